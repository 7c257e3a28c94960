"""Other ways to be fair, to compare FairExp with: one method, one file; what they share is in `parts`."""
