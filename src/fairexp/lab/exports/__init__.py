"""Runs in the forms that others read.

`runs` opens the folder of a run; `bandit` makes a log for off-policy work of it, `trec` a run and its judgements, and
`tracking` hands what runs came to on to MLflow.
"""
