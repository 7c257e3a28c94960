"""What several rankers are made of: how probable their lists are."""
