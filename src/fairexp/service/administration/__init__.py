"""What administrators do to policies.

`changes` declares, changes, rolls back, resets and deletes; `succession` says what each keeps and loses; `actions`
reads back what was done.
"""
