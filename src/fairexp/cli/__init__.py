"""The command line: parse, call the library, print. Nothing is computed here.

`entry` finds one of the `commands`. A command reads its `options`, makes room in `folders`, runs with a progress bar
(`progress`, `experiment_runs`), and prints by `printing`. `first_key` and `demo_service` belong to `fairexp serve`;
`reference` writes docs/cli.md.
"""

from fairexp.cli.entry import app, main

__all__ = ["app", "main"]
