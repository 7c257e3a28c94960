"""What rankers are made of: what their classes say of themselves, and how probable lists and orders are."""
