"""`fairexp erase`: remove what a service keeps about a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairexp.cli.connection import connected
from fairexp.cli.entry import error_console

if TYPE_CHECKING:
    from fairexp.client import Client


@connected
def erase(
    client: Client,
    user: Annotated[str, typer.Argument(help="The user's id, as rank requests had it.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many rankings it would touch.")] = False,
) -> None:
    """Erase what a running service keeps about a user.

    The user's id, session, query id and request id go from all rankings that were shown to the user, in all policies;
    what was learned and shown stays. The service does it, so that nothing stays in its memory either.
    """
    n_rankings = client.erase(user, dry_run=dry_run)
    verb = "would lose" if dry_run else "lost"
    error_console().print(f"{n_rankings:,} rankings {verb} what named the user.", highlight=False)
