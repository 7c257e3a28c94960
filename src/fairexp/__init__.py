"""Fair online learning to rank."""
