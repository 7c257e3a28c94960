"""The command line: parse, call the library, print. Nothing is computed here.

`entry` finds one of the `commands`. A command reads its `options`, makes room in `folders`, runs with a progress bar
(`progress`, `experiment_runs`), and prints by `printing`. `first_key` and `demo_service` belong to `fairexp serve`;
`reference` writes docs/cli.md.
"""

from __future__ import annotations

import sys

from fairexp.errors import MissingExtraError
from fairexp.extras import require


def main() -> None:
    """Run the command `fairexp`; without its packages, print the one line that says how to get them."""
    try:
        require("lab", "The command fairexp", "typer", "rich")
    except MissingExtraError as error:
        sys.exit(str(error))
    from fairexp.cli.entry import main as run

    run()
