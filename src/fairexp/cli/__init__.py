"""The command line: parse, call the library, print. Nothing is computed here.

`entry` finds one of the `commands`; it reads its `options` (by `plain_values`) and `parameters`, makes room in
`folders`, has runs played under a person's eyes (`watched_runs`, `experiment_runs`), and prints by `printing`.
`first_key` and `demo_service` belong to `fairexp serve`; `reference` writes docs/cli.md.
"""

from fairexp.cli.entry import app, main

__all__ = ["app", "main"]
