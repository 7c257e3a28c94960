"""What rankers learn with: confidence, regression, gradients, interleaving, click rates, orders."""
