"""The options of `fairexp serve`, and those of them that `fairexp keys` and `fairexp audit` share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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


StoreAddress = Annotated[
    str,
    typer.Option(envvar="FAIREXP_STORE", help="Where everything is kept: an SQLite file, or a postgresql:// URL."),
]
Policies = Annotated[Path | None, typer.Option(help="YAML file with the policies to declare.")]
Prefer = Annotated[
    Winner | None,
    typer.Option(help="Which one wins where the file differs from what was changed over the API: file or store."),
]
Discard = Annotated[
    bool, typer.Option("--discard", help="Go ahead even if a policy of the file loses something; see --dry-run.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what the file's policies would change and lose, and leave.")
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
FirstKeyFile = Annotated[
    Path | None,
    typer.Option(
        envvar="FAIREXP_KEY_FILE",
        help="Where the first start puts the admin key that it makes; by default beside an SQLite file "
        "(fairexp.db.admin-key), or fairexp-admin.key here.",
    ),
]
Open = Annotated[
    bool,
    typer.Option("--open", help="For trying it out: everybody on this machine may do everything without a key."),
]
Level = Annotated[
    LogLevel,
    typer.Option(
        envvar="FAIREXP_LOG_LEVEL", help="From which level on the log is written: debug, info, warning, error."
    ),
]
NoRequestLog = Annotated[
    bool, typer.Option("--no-request-log", help="No line in the log for each request, unless it is refused.")
]
Changes = Annotated[list[str] | None, typer.Option("--set", help="A setting, as name=value; `--settings` lists them.")]
ListSettings = Annotated[bool, typer.Option("--settings", help="List the settings with their defaults, and leave.")]
Demo = Annotated[bool, typer.Option("--demo", help="Serve an embedded world with simulated users that click; open.")]
