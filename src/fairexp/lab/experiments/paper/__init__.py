"""What the records say about the paper's findings.

`results` reads records back; `evidence` compares them by `fairexp.statistics`; `findings` states them, and
`judgement` says of each whether it is supported, contradicted or undecided.
"""
