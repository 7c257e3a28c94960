"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from fairexp.cli.entry import app


@pytest.fixture
def fairexp() -> Callable[..., Result]:
    """Run the command with these arguments; `exit_code` is checked, so that no failure passes unseen."""

    def run(*arguments: object, exit_code: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        assert result.exit_code == exit_code, result.output
        return result

    return run
