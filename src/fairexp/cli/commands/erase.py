"""`fairexp erase`: remove what a service keeps about a user."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from fairexp.cli.entry import error_console


def erase(
    user: Annotated[str, typer.Argument(help="The user's id, as rank requests had it.")],
    url: Annotated[str, typer.Option(help="Where the service is.")] = "http://127.0.0.1:8000",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many rankings it would touch.")] = False,
) -> None:
    """Erase what a running service keeps about a user.

    The user's id, session, query id and request id go from all rankings that were shown to the user, in all policies;
    what was learned and shown stays. The service does it, so that nothing stays in its memory either. Set FAIREXP_KEY
    to a key with the role admin where the service has keys.
    """
    from fairexp.client import Client

    with Client(url, key=os.environ.get("FAIREXP_KEY"), timeout_seconds=60.0) as client:
        n_rankings = client.erase(user, dry_run=dry_run)
    verb = "would lose" if dry_run else "lost"
    error_console().print(f"{n_rankings:,} rankings {verb} what named the user.", highlight=False)
