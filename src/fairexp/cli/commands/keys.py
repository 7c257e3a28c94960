"""`fairexp keys`: who may use a service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from fairexp.cli.entry import error_console
from fairexp.cli.options import DEFAULT_STORE, StoreAddress
from fairexp.cli.stores import opened_store, whoever

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke the keys of a service, by role and by policy.")


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    role: Annotated[list[str], typer.Option(help="rank, feedback, read or admin; may be given several times.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy that the key is for; may be given several times. Default: all."),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second allowed to this key.")] = None,
    store: StoreAddress = DEFAULT_STORE,
) -> None:
    """Make a key; it is printed this once, and only its hash is kept."""
    from fairexp.service.http.keys import make_key

    with opened_store(store) as opened:
        key, token = make_key(opened, by=whoever(), name=name, roles=role, policies=policy or (), rate=rate)
        missing = sorted(set(key.policies) - {each.name for each in opened.policies()})
    console, limits = error_console(), f", for {', '.join(key.policies)} only" if key.policies else ""
    told = f"Key {key.id} for {name!r}: {', '.join(key.roles)}{limits}. Keep it; it is not shown again."
    console.print(told, markup=False, soft_wrap=True)
    if missing:
        console.print(f"No policy is called {', '.join(missing)} yet.", style="yellow", soft_wrap=True)
    typer.echo(token)


@app.command("list")
def list_keys(store: StoreAddress = DEFAULT_STORE) -> None:
    """List the keys, without their secrets."""
    from rich.table import Table

    from fairexp.cli.printing import output_console

    columns = ("id", "name", "roles", "policies", "per second", "made", "revoked")
    table = Table(*columns, box=None, padding=(0, 2, 0, 0))
    with opened_store(store) as opened:
        for key in opened.keys():  # noqa: SIM118
            rate = "" if key.rate is None else f"{key.rate:g}"
            roles, policies = ", ".join(key.roles), ", ".join(key.policies) or "all"
            table.add_row(key.id, key.name, roles, policies, rate, _day(key.at), _day(key.revoked_at))
    output_console().print(table)


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `fairexp keys list` shows it.")],
    store: StoreAddress = DEFAULT_STORE,
) -> None:
    """Put an end to a key; a running server knows within a second."""
    from fairexp.service.http.keys import revoke_key

    with opened_store(store) as opened:
        key = revoke_key(opened, key_id, by=whoever())
    error_console().print(f"Key {key.id} for {key.name!r} is revoked.")


def _day(at: float | None) -> str:
    return "" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
