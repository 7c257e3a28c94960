"""What PDGD computes: draws, and the gradient of their probabilities."""
