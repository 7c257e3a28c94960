"""Policies at work: ranking and learning, every step on disk before it is acknowledged.

`engine` leads. A `live_policy` holds its `runtime` (ranker and `totals`) and the rankings that await feedback;
`recovery` brings both back from the store; `background` sees to failures and to what has expired.
"""
