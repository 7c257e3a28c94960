"""What is written down: `records` of rankings and feedback, their bytes (`codec`) and ids (`ranking_ids`).

`writer` hands them to the store, many in one transaction; `audit` checks what a store holds.
"""
