"""What a policy is (`spec`, `constraints`, in the manner of `forms`), what its requests bring (`columns`), the ranker
that it asks for (`rankers`), features of one size (`scaling`), and what two of its `versions` have in common."""
