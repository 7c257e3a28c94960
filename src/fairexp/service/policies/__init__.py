"""What a policy is (`spec`), what its requests bring (`columns`), its ranker (`rankers`), its features' `scaling`."""
