"""`fairexp policy`: the policies of a running service, over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairexp.cli.connection import connected
from fairexp.cli.entry import error_console

if TYPE_CHECKING:
    from fairexp.client import Client
    from fairexp.client.answers import Change

app = typer.Typer(
    no_args_is_help=True, help="Look at the policies of a running service, change them, and bring versions back."
)
Name = Annotated[str, typer.Argument(metavar="POLICY", help="The policy's name.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]
Discard = Annotated[bool, typer.Option("--discard", help="Go ahead even if something is lost.")]


@app.command("list")
@connected
def list_policies(client: Client) -> None:
    """List the policies."""
    from rich.table import Table

    from fairexp.cli.printing import output_console

    table = Table("policy", "state", "version", "ranker", "rankings", box=None, padding=(0, 2, 0, 0))
    for each in client.policies():
        version, rounds = ("" if number is None else f"{number:,}" for number in (each.version, each.rounds))
        table.add_row(each.policy, each.state, version, each.ranker or "", rounds)
    output_console().print(table)


@app.command("versions")
@connected
def versions(client: Client, policy: Name) -> None:
    """List the versions of a policy: when each came, who brought it, and whether it can be rolled back to."""
    from rich.table import Table

    from fairexp.cli.printing import output_console

    table = Table("version", "since", "what", "by", "back to it", box=None, padding=(0, 2, 0, 0))
    found = client.policy(policy)
    for each in found.versions:
        back = "in force" if each.version == found.version else "yes" if each.can_roll_back else "no"
        by = each.by if each.origin == "api" else "a file"
        table.add_row(str(each.version), _time(each.at), each.action, by, back)
    output_console().print(table)


@app.command("put")
@connected
def put(
    client: Client,
    policy: Name,
    file: Annotated[Path, typer.Argument(help="YAML file with this policy among its `policies`.")],
    dry_run: DryRun = False,
    discard: Discard = False,
) -> None:
    """Declare or change a policy; what still makes sense is kept, and what would be lost needs --discard."""
    from fairexp.errors import ArgumentError
    from fairexp.service.policies.spec import load_policies

    declared = load_policies(file)
    if policy not in declared:
        raise ArgumentError("policy", repr(policy), f"one that {file} declares: {', '.join(declared)}")
    spec = declared[policy].model_dump(mode="json")
    tell(client.put_policy(policy, spec, dry_run=dry_run, discard=discard))


@app.command("rollback")
@connected
def rollback(
    client: Client,
    policy: Name,
    version: Annotated[int, typer.Argument(help="The version whose state shall come back.")],
    dry_run: DryRun = False,
) -> None:
    """Bring back an earlier version with the model and the ledger that it ended with."""
    tell(client.roll_back(policy, version, dry_run=dry_run))


@app.command("reset")
@connected
def reset(
    client: Client,
    policy: Name,
    model: Annotated[bool, typer.Option("--model", help="Forget what was learned.")] = False,
    ledger: Annotated[bool, typer.Option("--ledger", help="Start the account of exposure at zero.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Start anew with the model, the ledger or both; `rollback` brings back what there was."""
    from fairexp.errors import ArgumentError

    what = [name for name, wanted in (("model", model), ("ledger", ledger)) if wanted]
    if not what:
        raise ArgumentError("reset", "nothing to start anew with", "--model, --ledger or both")
    tell(client.reset(policy, what, dry_run=dry_run))


@app.command("delete")
@connected
def delete(
    client: Client,
    policy: Name,
    dry_run: DryRun = False,
    discard: Discard = False,
) -> None:
    """Put an end to a policy and to everything that was kept of it; needs --discard, and nothing brings it back."""
    tell(client.delete_policy(policy, dry_run=dry_run, discard=discard))


@app.command("actions")
@connected
def actions(
    client: Client,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 20,
) -> None:
    """List what administrators did, newest first."""
    from rich.table import Table

    from fairexp.cli.printing import output_console

    table = Table("", "when", "who", "what", "policy", box=None, padding=(0, 2, 0, 0))
    for each in client.actions(limit=limit):
        table.add_row(str(each.number), _time(each.at), each.by, each.action, each.policy or "")
    output_console().print(table)


def tell(told: Change) -> None:
    """What was done, or would be done."""
    console = error_console()
    would = " (dry run: nothing was changed)" if told.dry_run else ""
    console.print(f"{told.policy}: {told.action}, version {told.version}{would}", style="bold", markup=False)
    for name, style in (
        ("differences", "dim"),
        ("kept", "green"),
        ("new", "cyan"),
        ("lost", "red"),
        ("warnings", "yellow"),
    ):
        for line in getattr(told, name):
            word = {"differences": "differs", "warnings": "warning"}.get(name, name)
            console.print(f"  {word}: {line}", style=style, markup=False, soft_wrap=True)


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
