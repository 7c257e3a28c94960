"""What an experiment is and which runs it takes, before any of them begins.

`yaml_file` reads an experiment (`spec`) and settles its `paths` and `sources`; `prepared` holds what the data say;
`run_list` makes of both each `run`.
"""
