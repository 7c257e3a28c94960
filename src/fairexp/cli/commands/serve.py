"""`fairexp serve`: rank and learn over HTTP."""

from __future__ import annotations

import logging
import signal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairexp.cli.entry import error_console

if TYPE_CHECKING:
    import uvicorn

    from fairexp.errors import FairexpError
    from fairexp.service.policies.spec import PolicySpec
    from fairexp.service.settings import ServerSettings

StoreAddress = Annotated[
    str,
    typer.Option(envvar="FAIREXP_STORE", help="Where everything is kept: an SQLite file, or a postgresql:// URL."),
]
DEFAULT_STORE = "fairexp.db"
DEMO_STORE = "fairexp-demo.db"


class LogLevel(StrEnum):
    """From which level on the log is written."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


class Winner(StrEnum):
    """What counts where file and store differ."""

    file = "file"
    store = "store"


def serve(
    store: StoreAddress = DEFAULT_STORE,
    policies: Annotated[Path | None, typer.Option(help="YAML file with the policies to declare.")] = None,
    prefer: Annotated[
        Winner | None,
        typer.Option(help="Which one wins where the file differs from what was changed over the API: file or store."),
    ] = None,
    discard: Annotated[
        bool, typer.Option("--discard", help="Go ahead even if a policy of the file loses something; see --dry-run.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what the file's policies would change and lose, and leave.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    key_file: Annotated[
        Path | None,
        typer.Option(
            envvar="FAIREXP_KEY_FILE",
            help="Where the first start puts the admin key that it makes; by default beside an SQLite file "
            "(fairexp.db.admin-key), or fairexp-admin.key here.",
        ),
    ] = None,
    open_: Annotated[
        bool,
        typer.Option("--open", help="For trying it out: everybody on this machine may do everything without a key."),
    ] = False,
    log_level: Annotated[
        LogLevel,
        typer.Option(
            envvar="FAIREXP_LOG_LEVEL", help="From which level on the log is written: debug, info, warning, error."
        ),
    ] = LogLevel.info,
    no_request_log: Annotated[
        bool, typer.Option("--no-request-log", help="No line in the log for each request, unless it is refused.")
    ] = False,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="A setting, as name=value; `--settings` lists them.")
    ] = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="List the settings with their defaults, and leave.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve an embedded world with simulated users that click; open.")
    ] = False,
) -> None:
    """Rank, learn and stay fair over HTTP.

    Everything acknowledged is on disk. Nobody is let in without a key: the first start makes one for you and says
    where it is, `fairexp keys` makes others. Stops gracefully on SIGTERM, SIGHUP and Ctrl-C.
    """
    if settings:
        _list_settings()
        return
    from fairexp.cli.first_key import check_open, prepare_keys
    from fairexp.service.http.json_log import log_as_json
    from fairexp.service.policies.spec import load_policies

    declared, changed = {} if policies is None else load_policies(policies), _changed(change or [])
    if dry_run:
        _preview(store, declared, None if prefer is None else prefer.value)
        return
    opening = "--open" if open_ else ""
    if demo:
        from fairexp.cli.demo_service import demo_policies

        declared = {**demo_policies(), **declared}
        if store == DEFAULT_STORE:
            store, opening = DEMO_STORE, opening or "--demo"
    log_as_json(logging.getLevelNamesMapping()[log_level.upper()], requests=not no_request_log)
    if opening:
        check_open(opening, store, host)
    else:
        prepare_keys(store, key_file=key_file, url=_url(host, port))
    options = {"open": bool(opening), "prefer": None if prefer is None else prefer.value, "discard": discard}
    _run(store, host=host, port=port, settings=changed, declared=declared, options=options, demo=demo)


def _preview(address: str, declared: dict[str, PolicySpec], prefer: Any) -> None:
    from fairexp.cli.commands.keys import opened_store
    from fairexp.cli.commands.policy import tell
    from fairexp.service.administration.declaration import preview

    with opened_store(address) as store:
        for name, change in preview(store, declared, prefer=prefer):
            tell(change.plain(name))


def _url(host: str, port: int) -> str:
    """Where to reach the server from this machine, as far as that is known before it listens."""
    place = "localhost" if host in ("127.0.0.1", "::1", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{place}:{port or 'PORT'}"


def _changed(assignments: list[str]) -> ServerSettings:
    """The settings, with those of `--set`."""
    from fairexp.cli.parameters import parse_value
    from fairexp.errors import ArgumentError
    from fairexp.service.settings import ServerSettings

    values: dict[str, Any] = {}
    for assignment in assignments:
        name, separator, text = assignment.partition("=")
        if not separator:
            raise ArgumentError("--set", repr(assignment), "name=value")
        values[name] = _whole(parse_value(text))
    return ServerSettings().changed(values)


def _whole(value: Any) -> Any:
    """Numbers such as 1e3 are meant as whole ones where they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _list_settings() -> None:
    from rich.table import Table

    from fairexp.cli.printing.tables import output_console
    from fairexp.service.settings import settings_table

    table = Table("setting", "default", "meaning", box=None, padding=(0, 2, 0, 0))
    for name, default, meaning in settings_table():
        table.add_row(name, f"{default:,g}" if isinstance(default, float) else f"{default:,}", meaning)
    output_console().print(table)


def _run(
    address: str,
    *,
    host: str,
    port: int,
    settings: ServerSettings,
    declared: dict[str, PolicySpec],
    options: dict[str, Any],
    demo: bool,
) -> None:
    import uvicorn

    from fairexp.service.http.connections import raise_file_limit
    from fairexp.service.http.server import server_config
    from fairexp.service.service import Service
    from fairexp.service.store import open_store

    raise_file_limit()
    failed: list[FairexpError] = []

    def give_up(error: FairexpError) -> None:
        failed.append(error)
        server.should_exit = True

    service = Service(open_store(address), settings=settings, policies=declared, fatal=give_up, **options)
    server = uvicorn.Server(server_config(service, host=host, port=port))
    service.reader.start()  # so that the first large body need not wait for it
    if demo:
        from fairexp.cli.demo_service import DemoTraffic

        DemoTraffic(server).start()
    stop_on_hangup(server)
    server.run()
    if failed:
        if "\n" in str(failed[0]):  # a difference is told line by line
            error_console().print(f"Error: {failed[0]}", style="red", markup=False, soft_wrap=True)
            raise typer.Exit(2)
        raise failed[0]


def stop_on_hangup(server: uvicorn.Server) -> None:
    """A terminal that closes stops the server as SIGTERM does, unless `nohup` or the like said to go on."""

    def stop(*_: object) -> None:
        server.should_exit = True

    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, stop)
