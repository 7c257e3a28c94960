"""What rankings are worth: NDCG and misordered pairs."""
