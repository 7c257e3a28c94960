"""What few runs can say of many.

`student`'s t gives `intervals` and p-values, `paired` tests compare two rankers, and `sharing` says what folds have in
common.
"""
