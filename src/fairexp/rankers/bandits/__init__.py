"""Click bandits: most learn of each query by itself, by its id and the ids of its documents.

One module for each algorithm. They share `per_query` (the contract), `bounds`, `design`, `duels`, `neighbours`,
`orders` and `rewards`.
"""
