"""What a policy is (`spec`), the ranker that it asks for (`rankers`), and features of one size (`scaling`)."""
