"""LETOR / SVMrank text into arrays: `reader` leads.

A file comes in `blocks` of lines, `parser` turns them into `rows`, `layout` puts each query's rows together, and
`cache` keeps the arrays, so that the next opening maps them.
"""
