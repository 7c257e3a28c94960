import subprocess
import sys

import pytest
import typer
from typer.core import TyperCommand

from fairexp.cli.entry import load_command

PLAIN = [
    "--ranker",
    "pairrank",
    "--ranker",
    "pdgd",
    "--rounds",
    "10",
    "--data",
    "yahoo-9",
    "--overwrite",
    "--seeds",
    "2",
]


def outcome(command: TyperCommand, words: list[str]) -> object:
    """The values that a command reads from words, or what it refuses them with."""
    try:
        with command.make_context("simulate", list(words)) as context:
            return context.params
    except typer.Exit as end:
        return end.exit_code
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "words",
    [
        [],
        PLAIN,
        ["--rounds", "0"],
        ["--rounds", "-3"],
        ["--rounds", "007"],
        ["--rounds", " 7 "],
        ["--rounds", "1_000"],
        ["--rounds", "1e3"],
        ["--rounds", "many"],
        ["--rounds", "9" * 40],
        ["--rounds", "٣"],
        ["--rounds", ""],
        ["--seed", "0", "--beta", "1.5", "--out", "runs"],
        ["--beta", "x"],
        ["--data", ""],
        ["--user", ""],
        ["--nothing"],
    ],
)
def test_values_are_those_that_typer_reads(words: list[str]) -> None:
    plainly, judged = load_command("simulate"), load_command("simulate")
    judged.get_params = lambda context: TyperCommand.get_params(judged, context)
    assert outcome(plainly, words) == outcome(judged, words)


def test_plain_values_need_no_pydantic() -> None:
    read = f"import sys; from fairexp.cli.entry import load_command as load; load('simulate').make_context('', {PLAIN})"
    told = subprocess.run(
        [sys.executable, "-c", f"{read}; print('pydantic' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["False"]
