"""PDGD, linear and with a hidden layer."""
