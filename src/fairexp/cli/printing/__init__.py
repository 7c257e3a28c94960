"""What the commands print.

`progress` while runs are played; then a `summary` over seeds, from which come `tables` and the demo's words
(`demo_text`); `claims` after experiments.
"""
