from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

import fairexp as package
from fairexp.cli.entry import COMMANDS, app, load_command
from fairexp.errors import ArgumentError
from tests.waiting import SECONDS

Run = Callable[..., Result]


@pytest.mark.parametrize("path", [[], *([name] for name in COMMANDS), ["data", "list"], ["data", "describe"]])
def test_every_command_has_help(fairexp: Run, path: list[str]) -> None:
    assert "Usage: " in fairexp(*path, "--help").output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_listed_help_is_the_first_line_of_the_commands_own(name: str) -> None:
    assert load_command(name).help.partition("\n")[0] == COMMANDS[name].help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str) -> None:
    command = load_command(name)
    for each in [command, *getattr(command, "commands", {}).values()]:
        assert each.help
        assert [parameter.name for parameter in each.params if not parameter.help] == []


def test_all_commands_are_listed(fairexp: Run) -> None:
    output = fairexp("--help").output
    assert all(name in output for name in COMMANDS)


def test_version(fairexp: Run) -> None:
    assert fairexp("--version").stdout == f"fairexp {package.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["demo", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom fairexp.cli.entry import app\n"
        f"try: app({arguments!r})\nexcept SystemExit: pass\n"
        "heavy = {'scipy', 'pyarrow', 'altair', 'vl_convert', 'numpy', 'yaml'}\n"
        "sys.exit(f'loaded: {heavy & sys.modules.keys()}' if heavy & sys.modules.keys() else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr


def test_an_unknown_command_is_refused(fairexp: Run) -> None:
    assert "No such command" in fairexp("simulat", exit_code=2).output


def test_what_the_library_refuses_is_one_line_on_stderr(fairexp: Run) -> None:
    result = fairexp("rankers", "nonesuch", exit_code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ranker: expected the name of a ranker, ")
    assert result.stderr.endswith("got 'nonesuch'. `fairexp rankers` lists them.\n") and result.stderr.count("\n") == 1


def test_what_the_system_refuses_is_one_line_too(fairexp: Run, tmp_path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/far/away")

    monkeypatch.setattr("fairexp.cli.commands.rankers._list", refuse)
    assert fairexp("rankers", exit_code=2).stderr == "Error: /far/away: Permission denied\n"


def test_debugging_shows_where_an_error_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIREXP_DEBUG", "1")
    with pytest.raises(ArgumentError, match="nonesuch"):
        CliRunner().invoke(app, ["rankers", "nonesuch"], catch_exceptions=False)


def test_an_interrupt_anywhere_exits_with_130(fairexp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairexp.cli.commands.rankers._list", interrupt)
    assert fairexp("rankers", exit_code=130).stderr == "Interrupted.\n"
