"""What is written down: a ranking as it was `shown`, with what was `considered` for it and what features added to
scores (`contributions`), and the `feedback` on it.

Each carries all that replaying it needs; rankings are known by their ids (`ranking_ids`). `writer` hands records to
the store, many in one transaction; `snapshot` reads a state back; `audit` checks what a store holds.
"""
