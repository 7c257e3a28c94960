"""What click bandits share.

`per_query` is the contract of those that keep each query by itself, in a `query_memory` of bounded size; `bounds` and
`design` say how sure they are and what to try; `duels` compare exchangeable documents, `neighbours` exchange them, and
`orders` are what follows.
"""
