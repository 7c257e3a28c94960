"""The report: `tables` and `charts` of the results, the claims, and the `page` that holds them.

`report` writes all of it; `files` has the forms for others, CSV and LaTeX.
"""
