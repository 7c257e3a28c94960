"""Dueling bandit gradient descent: linear rankers that try weights next to their own and move to those that win.

`challengers` is what they share, `recent` what some remember. One module for each algorithm.
"""
