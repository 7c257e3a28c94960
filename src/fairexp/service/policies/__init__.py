"""What a policy is (`spec`, `constraints`, in the manner of `forms`), the ranker that it asks for (`rankers`), and
features of one size (`scaling`)."""
