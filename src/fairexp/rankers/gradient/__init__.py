"""Model-space explorers: linear rankers that try rivals next to their weights and move to those whose lists win.

`rivals` is what they share, `recent` what some remember; one file per algorithm.
"""
