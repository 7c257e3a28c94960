"""Rankers to compare FairExp with: other ways to be fair, one module each, and fixed, random and oracle (`controls`).

They share `group_exposure`, `merit`, `objective` and `unbiased_relevance`.
"""
