"""Commands that speak to a running service: the options that say where it is, declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

Url = Annotated[str, typer.Option(envvar="FAIREXP_URL", help="Where the service is.")]
Key = Annotated[str | None, typer.Option(envvar="FAIREXP_KEY", help="A key; changes need the role admin.")]
KeyFile = Annotated[
    Path | None, typer.Option(envvar="FAIREXP_KEY_FILE", help="A file that holds the key, such as the admin key's.")
]
HERE = "http://127.0.0.1:8000"
TIMEOUT_SECONDS = 60.0


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """The command with options for url and key in place of its first parameter, the client, which it is given."""

    def run(url: Url = HERE, key: Key = None, key_file: KeyFile = None, **options: Any) -> None:
        from fairexp.client import Client

        token = key if key_file is None else key_file.read_text(encoding="utf-8").strip()
        with Client(url, key=token, timeout_seconds=TIMEOUT_SECONDS) as client:
            command(client, **options)

    hints = get_type_hints(command, localns={"Client": object}, include_extras=True)
    hints |= get_type_hints(run, include_extras=True)
    _, *own = inspect.signature(command).parameters.values()
    *where, _ = inspect.signature(run).parameters.values()
    shown = [each.replace(annotation=hints[each.name], kind=each.KEYWORD_ONLY) for each in (*own, *where)]
    found = wraps(command)(run)
    found.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    found.__annotations__ = {each.name: each.annotation for each in shown}
    return found
