"""What rankers are made of: how probable their lists are, and how probable orders are by the clicks that followed."""
