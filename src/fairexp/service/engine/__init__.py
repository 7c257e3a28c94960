"""Policies at work: ranking and learning, every step on disk before it is acknowledged.

A request waits in its policy's `queue`; then `engine` takes the policy's lock. A `live_policy` holds its `runtime`
(ranker and totals: it ranks `candidates` and says where constraints are `standing`) and a `cache` of the rankings that
await feedback (`open_ranking`); `repeats` knows the latest request ids, `events` checks feedback. What the
runtime did goes to the log's writer. `archive` reads back what was shown, `recovery` brings policies back from the
store, and `background` sees to failures and to what has expired.
"""
