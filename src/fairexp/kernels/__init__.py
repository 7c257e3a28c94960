"""Compiled loops: arrays and scalars in, arrays out. Paper symbols live here; each module maps them to words."""
