"""From past rankings and clicks to a belief to start from.

Files (`files`, `rows`, `ubi`) become a `record`; `exposure` finds in it how exposed positions were, `preferences` fits
weights to it, and `learned` is both, to be kept.
"""
