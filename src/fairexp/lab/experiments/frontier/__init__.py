"""What fairness costs with each ranker: `lines` of online NDCG over unfairness, and `verdicts` where that is the same.

`tables` has both for files, `report` and the command line print them.
"""
