"""PairRank: a logistic model of pairs, its confidence widths, and the host that explores by them."""
