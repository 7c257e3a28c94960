"""What click bandits compute: batches, certain orders, rates with confidence bounds."""
