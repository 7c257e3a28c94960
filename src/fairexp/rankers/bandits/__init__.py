"""Click bandits: most learn of each query by itself, by its id and the ids of its documents; one file per algorithm.

`parts` is what they share.
"""
