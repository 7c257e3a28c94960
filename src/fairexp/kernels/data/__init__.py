"""What there is to learn from: text that is read, features that are scaled, clicks that are simulated."""
