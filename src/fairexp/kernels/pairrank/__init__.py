"""What PairRank computes: its belief, the fit of its model, pairs from clicks."""
