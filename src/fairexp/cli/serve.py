"""`fairexp serve`: rank and learn over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairexp.cli.entry import error_console

if TYPE_CHECKING:
    from fairexp.errors import FairexpError

StoreAddress = Annotated[
    str,
    typer.Option(envvar="FAIREXP_STORE", help="Where everything is kept: an SQLite file, or a postgresql:// URL."),
]
DEFAULT_STORE = "fairexp.db"
DEMO_STORE = "fairexp-demo.db"


def serve(
    store: StoreAddress = DEFAULT_STORE,
    policies: Annotated[Path | None, typer.Option(help="YAML file with the policies to declare.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than this machine's needs keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="A setting, as name=value; `--settings` lists them.")
    ] = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="List the settings with their defaults, and leave.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve an embedded world with simulated users that click.")
    ] = False,
) -> None:
    """Rank, learn and stay fair over HTTP.

    Everything acknowledged is on disk. Stops gracefully on SIGTERM and Ctrl-C.
    """
    if settings:
        _list_settings()
        return
    from fairexp.cli.parameters import parse_value
    from fairexp.errors import ArgumentError
    from fairexp.service.policy import load_policies
    from fairexp.service.settings import Settings

    values: dict[str, Any] = {}
    for assignment in change or []:
        name, separator, text = assignment.partition("=")
        if not separator:
            raise ArgumentError("--set", repr(assignment), "name=value")
        values[name] = _whole(parse_value(text))
    declared = {} if policies is None else load_policies(policies)
    if demo:
        from fairexp.cli.serve_demo import demo_policies

        declared = {**demo_policies(), **declared}
        store = DEMO_STORE if store == DEFAULT_STORE else store
    _check_keys(store, host)
    _run(store, host=host, port=port, settings=Settings().changed(values), declared=declared, demo=demo)


def _whole(value: Any) -> Any:
    """Numbers such as 1e3 are meant as whole ones where they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _list_settings() -> None:
    from rich.table import Table

    from fairexp.cli.tables import output_console
    from fairexp.service.settings import settings_table

    table = Table("setting", "default", "meaning", box=None, padding=(0, 2, 0, 0))
    for name, default, meaning in settings_table():
        table.add_row(name, f"{default:,g}" if isinstance(default, float) else f"{default:,}", meaning)
    output_console().print(table)


def _check_keys(address: str, host: str) -> None:
    """Without keys anybody who reaches the server could do anything, so only this machine may."""
    from fairexp.errors import ArgumentError
    from fairexp.service.access import is_loopback
    from fairexp.service.store import open_store

    store = open_store(address)
    store.open(serving=False)
    try:
        keys = list(store.keys())
    finally:
        store.close()
    if any(key.revoked_at is None for key in keys):
        return
    if not is_loopback(host):
        raise ArgumentError(
            "--host",
            repr(host),
            "127.0.0.1 while the store holds no keys",
            "Make one first: fairexp keys add NAME --role admin",
        )
    if keys:
        error_console().print("All keys are revoked: nobody is let in until there is a new one.", style="yellow")
        return
    error_console().print(
        "No keys: everybody on this machine may do everything, and nobody else is let in.", style="yellow"
    )


def _run(address: str, *, host: str, port: int, settings: Any, declared: dict[str, Any], demo: bool) -> None:
    import uvicorn

    from fairexp.service.access import is_loopback
    from fairexp.service.connections import raise_file_limit
    from fairexp.service.server import server_config
    from fairexp.service.service import Service
    from fairexp.service.store import open_store
    from fairexp.service.telemetry import log_as_json

    log_as_json()
    raise_file_limit()
    failed: list[FairexpError] = []

    def give_up(error: FairexpError) -> None:
        failed.append(error)
        server.should_exit = True

    service = Service(
        open_store(address), settings=settings, policies=declared, loopback=is_loopback(host), fatal=give_up
    )
    server = uvicorn.Server(server_config(service, host=host, port=port))
    service.reader.start()  # so that the first large body need not wait for it
    if demo:
        from fairexp.cli.serve_demo import DemoTraffic

        DemoTraffic(server).start()
    server.run()
    if failed:
        raise failed[0]
