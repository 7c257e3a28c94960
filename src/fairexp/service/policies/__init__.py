"""What a policy is (`spec`, `constraints`, in the manner of `forms`), what its requests bring (`columns`), the ranker
that it asks for (`rankers`), and features of one size (`scaling`)."""
