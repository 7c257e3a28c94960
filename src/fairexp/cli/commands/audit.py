"""`fairexp audit`: is a store what the service wrote?"""

from __future__ import annotations

from typing import Annotated

import typer

from fairexp.cli.entry import error_console
from fairexp.cli.options import DEFAULT_STORE, StoreAddress


def audit(
    store: StoreAddress = DEFAULT_STORE,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            help="A note that an earlier audit printed; the log must still hold it. May be given several times."
        ),
    ] = None,
) -> None:
    """Check that a store is what the service wrote.

    Every entry of the log is held against the chain of digests, and snapshots and versions against the log. Prints a
    note for each policy that is whole: kept elsewhere and given to a later audit, it proves that the log up to it is
    the same. Says in how many rankings each constraint of fairness was met. Where what named a user was erased, the
    entry itself is proven still; such entries are counted. A server may be at work. Exit code 1 if anything is not what
    was written.
    """
    from pathlib import Path

    from fairexp.cli.stores import opened_store
    from fairexp.errors import ArgumentError
    from fairexp.service.log.audit import audit as audit_store

    if "://" not in store and not Path(store).exists():
        raise ArgumentError("--store", repr(store), "a store that exists")
    with opened_store(store) as opened:
        found = audit_store(opened, expected=expect or [])
    console = error_console()
    for each in found:
        counts = f"{each.n_entries:,} of {each.head.seq:,} entries are there, {each.n_erased:,} with an erased context"
        console.print(f"{each.name}: {counts}, {len(each.problems)} problems", highlight=False, soft_wrap=True)
        for name, (n_met, n_all) in each.met.items():
            told = f"{name} was met in {n_met:,} of {n_all:,} rankings in the log"
            console.print(f"{each.name}: {told}", highlight=False, soft_wrap=True, markup=False)
        for problem in each.problems:
            console.print(f"{each.name}: {problem}", style="red", highlight=False, soft_wrap=True)
        if not each.problems:
            typer.echo(each.note)
    if any(each.problems for each in found):
        raise typer.Exit(1)
