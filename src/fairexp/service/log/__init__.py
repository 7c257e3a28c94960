"""What is written down: `records` of rankings and feedback, and their ids (`ranking_ids`).

`writer` hands them to the store, many in one transaction; `snapshot` reads a state back; `audit` checks what a store
holds.
"""
