"""`fairexp serve`: rank and learn over HTTP."""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING, Any

import typer

from fairexp.cli import options
from fairexp.cli.entry import error_console

if TYPE_CHECKING:
    import uvicorn

    from fairexp.errors import FairexpError
    from fairexp.service.policies.spec import PolicySpec
    from fairexp.service.settings import ServerSettings


def serve(
    store: options.StoreAddress = options.DEFAULT_STORE,
    policies: options.Policies = None,
    prefer: options.Prefer = None,
    discard: options.Discard = False,
    dry_run: options.DryRun = False,
    host: options.Host = "127.0.0.1",
    port: options.Port = 8000,
    key_file: options.FirstKeyFile = None,
    open_: options.Open = False,
    log_level: options.Level = options.LogLevel.info,
    no_request_log: options.NoRequestLog = False,
    change: options.Changes = None,
    settings: options.ListSettings = False,
    demo: options.Demo = False,
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
    winner = None if prefer is None else prefer.value
    if dry_run:
        _preview(store, declared, winner)
        return
    opening = "--open" if open_ else ""
    if demo:
        from fairexp.cli.demo_service import demo_policies

        declared = {**demo_policies(), **declared}
        if store == options.DEFAULT_STORE:
            store, opening = options.DEMO_STORE, opening or "--demo"
    log_as_json(logging.getLevelNamesMapping()[log_level.upper()], requests=not no_request_log)
    if opening:
        check_open(opening, store, host)
    else:
        prepare_keys(store, key_file=key_file, url=_url(host, port))
    told = {"settings": changed, "policies": declared, "prefer": winner, "discard": discard, "open": bool(opening)}
    _run(store, host=host, port=port, demo=demo, **told)


def _preview(address: str, declared: dict[str, PolicySpec], prefer: Any) -> None:
    from fairexp.cli.commands.policy import tell
    from fairexp.cli.stores import opened_store
    from fairexp.client.answers import Change
    from fairexp.service.changes import preview

    with opened_store(address) as store:
        for name, change in preview(store, declared, prefer=prefer):
            tell(Change(**change.plain(name)))


def _url(host: str, port: int) -> str:
    """Where to reach the server from this machine, as far as that is known before it listens."""
    place = "localhost" if host in ("127.0.0.1", "::1", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{place}:{port or 'PORT'}"


def _changed(assignments: list[str]) -> ServerSettings:
    """The settings, with those of `--set`."""
    from fairexp.cli.options import parse_value
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

    from fairexp.cli.printing import output_console
    from fairexp.service.settings import settings_table

    table = Table("setting", "default", "meaning", box=None, padding=(0, 2, 0, 0))
    for name, default, meaning in settings_table():
        table.add_row(name, f"{default:,g}" if isinstance(default, float) else f"{default:,}", meaning)
    output_console().print(table)


def _run(address: str, *, host: str, port: int, demo: bool, **told: Any) -> None:
    """Serve the store at `address` until a signal comes; `told` is what else a `Service` is told."""
    import uvicorn

    from fairexp.service.http.connections import raise_file_limit
    from fairexp.service.http.server import server_config
    from fairexp.service.http.service import Service
    from fairexp.service.store import open_store

    raise_file_limit()
    failed: list[FairexpError] = []

    def give_up(error: FairexpError) -> None:
        failed.append(error)
        server.should_exit = True

    service = Service(open_store(address), fatal=give_up, **told)
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
