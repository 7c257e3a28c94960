"""From the bytes of a request to checked values.

`budget` limits the bytes in memory; `reader` takes large bodies to a separate process; `decode` reads them by
`forms` into what is `asked`, `metarank` does it for others' requests, and `reports` for others' events (Metarank's, and
`ubi`). `fields` finds
features by name, and `candidates` makes of a request what a policy can rank.
"""
