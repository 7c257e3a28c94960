"""`fairexp policy`: the policies of a running service, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairexp.cli.entry import error_console

if TYPE_CHECKING:
    from fairexp.client import Client

app = typer.Typer(
    no_args_is_help=True, help="Look at the policies of a running service, change them, and bring versions back."
)
Name = Annotated[str, typer.Argument(metavar="POLICY", help="The policy's name.")]
Url = Annotated[str, typer.Option(envvar="FAIREXP_URL", help="Where the service is.")]
Key = Annotated[str | None, typer.Option(envvar="FAIREXP_KEY", help="A key; changes need the role admin.")]
KeyFile = Annotated[
    Path | None, typer.Option(envvar="FAIREXP_KEY_FILE", help="A file that holds the key, such as the admin key's.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]
Discard = Annotated[bool, typer.Option("--discard", help="Go ahead even if something is lost.")]
HERE = "http://127.0.0.1:8000"


@app.command("list")
def list_policies(url: Url = HERE, key: Key = None, key_file: KeyFile = None) -> None:
    """List the policies."""
    from rich.table import Table

    from fairexp.cli.printing.tables import output_console

    table = Table("policy", "state", "version", "ranker", "rankings", box=None, padding=(0, 2, 0, 0))
    with _client(url, key, key_file) as client:
        for each in client.policies():
            rounds = f"{each['rounds']:,}" if "rounds" in each else ""
            table.add_row(each["policy"], each["state"], str(each.get("version", "")), each.get("ranker", ""), rounds)
    output_console().print(table)


@app.command("versions")
def versions(policy: Name, url: Url = HERE, key: Key = None, key_file: KeyFile = None) -> None:
    """List the versions of a policy: when each came, who brought it, and whether it can be rolled back to."""
    from rich.table import Table

    from fairexp.cli.printing.tables import output_console

    table = Table("version", "since", "what", "by", "back to it", box=None, padding=(0, 2, 0, 0))
    with _client(url, key, key_file) as client:
        found = client.policy(policy)
        for each in found["versions"]:
            back = "in force" if each["version"] == found["version"] else "yes" if each["can_roll_back"] else "no"
            by = each["by"] if each["origin"] == "api" else "a file"
            table.add_row(str(each["version"]), _time(each["at"]), each["action"], by, back)
    output_console().print(table)


@app.command("put")
def put(
    policy: Name,
    file: Annotated[Path, typer.Argument(help="YAML file with this policy among its `policies`.")],
    dry_run: DryRun = False,
    discard: Discard = False,
    url: Url = HERE,
    key: Key = None,
    key_file: KeyFile = None,
) -> None:
    """Declare or change a policy; what still makes sense is kept, and what would be lost needs --discard."""
    from fairexp.errors import ArgumentError
    from fairexp.service.policies.spec import load_policies

    declared = load_policies(file)
    if policy not in declared:
        raise ArgumentError("policy", repr(policy), f"one that {file} declares: {', '.join(declared)}")
    with _client(url, key, key_file) as client:
        spec = declared[policy].model_dump(mode="json")
        tell(client.put_policy(policy, spec, dry_run=dry_run, discard=discard))


@app.command("rollback")
def rollback(
    policy: Name,
    version: Annotated[int, typer.Argument(help="The version whose state shall come back.")],
    dry_run: DryRun = False,
    url: Url = HERE,
    key: Key = None,
    key_file: KeyFile = None,
) -> None:
    """Bring back an earlier version with the model and the ledger that it ended with."""
    with _client(url, key, key_file) as client:
        tell(client.roll_back(policy, version, dry_run=dry_run))


@app.command("reset")
def reset(
    policy: Name,
    model: Annotated[bool, typer.Option("--model", help="Forget what was learned.")] = False,
    ledger: Annotated[bool, typer.Option("--ledger", help="Start the account of exposure at zero.")] = False,
    dry_run: DryRun = False,
    url: Url = HERE,
    key: Key = None,
    key_file: KeyFile = None,
) -> None:
    """Start anew with the model, the ledger or both; `rollback` brings back what there was."""
    from fairexp.errors import ArgumentError

    what = [name for name, wanted in (("model", model), ("ledger", ledger)) if wanted]
    if not what:
        raise ArgumentError("reset", "nothing to start anew with", "--model, --ledger or both")
    with _client(url, key, key_file) as client:
        tell(client.reset(policy, what, dry_run=dry_run))


@app.command("delete")
def delete(
    policy: Name,
    dry_run: DryRun = False,
    discard: Discard = False,
    url: Url = HERE,
    key: Key = None,
    key_file: KeyFile = None,
) -> None:
    """Put an end to a policy and to everything that was kept of it; needs --discard, and nothing brings it back."""
    with _client(url, key, key_file) as client:
        tell(client.delete_policy(policy, dry_run=dry_run, discard=discard))


@app.command("actions")
def actions(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 20,
    url: Url = HERE,
    key: Key = None,
    key_file: KeyFile = None,
) -> None:
    """List what administrators did, newest first."""
    from rich.table import Table

    from fairexp.cli.printing.tables import output_console

    table = Table("", "when", "who", "what", "policy", box=None, padding=(0, 2, 0, 0))
    with _client(url, key, key_file) as client:
        for each in client.actions(limit=limit):
            table.add_row(str(each["number"]), _time(each["at"]), each["by"], each["action"], each["policy"] or "")
    output_console().print(table)


@contextmanager
def _client(url: str, key: str | None, key_file: Path | None) -> Iterator[Client]:
    from fairexp.client import Client

    token = key if key_file is None else key_file.read_text(encoding="utf-8").strip()
    with Client(url, key=token) as client:
        yield client


def tell(told: dict[str, Any]) -> None:
    """What was done, or would be done."""
    console = error_console()
    would = " (dry run: nothing was changed)" if told["dry_run"] else ""
    console.print(f"{told['policy']}: {told['action']}, version {told['version']}{would}", style="bold", markup=False)
    for name, style in (
        ("differences", "dim"),
        ("kept", "green"),
        ("new", "cyan"),
        ("lost", "red"),
        ("warnings", "yellow"),
    ):
        for line in told[name]:
            word = {"differences": "differs", "warnings": "warning"}.get(name, name)
            console.print(f"  {word}: {line}", style=style, markup=False, soft_wrap=True)


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
