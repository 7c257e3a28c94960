"""From the bytes of a request to checked values.

`budget` limits the bytes in memory; `reader` takes large bodies to a process of its own; `decode` reads them by
`forms`; `candidates` makes of a request what a policy can rank.
"""
