"""Where a policy stands in fairness: exposure by group, unfairness by pair, and their history, by constraint."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.fairness.ledger import pair_gaps
from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.policies.constraints import ConstraintSpec
from fairexp.service.views.accounts import named_gaps

NONE: dict[str, Any] = {"tolerance": None, "groups": [], "pairs": [], "largest_gap": None}


def fairness_report(live: LivePolicy, *, points: int, recent: bool) -> dict[str, Any]:
    """Exposure by group, unfairness by pair, and their history, for each constraint; at the top, those of the first."""
    with live.lock:
        runtime = live.runtime
        totals = runtime.totals
        history = totals.history(points=points, recent=recent)
        columns = {name: np.array(history[name]) for name in ("round", "at", "regret", "qualified", "clicks")}
        clicks = [
            {"position": number, "shown": int(seen), "clicks": int(clicked)}
            for number, (seen, clicked) in enumerate(zip(totals.shown_at, totals.clicked_at, strict=True), start=1)
        ]
        told: dict[str, Any] = {
            "policy": live.row.name,
            "rounds": totals.rounds,
            "qualified_share": totals.qualified / totals.rounds if runtime.is_fair and totals.rounds else None,
            "added_regret": totals.regret,
            "clicks_by_position": clicks,
        }
        constraints = [
            {
                **standing(runtime, number),
                "history": _own_history(each, history["gaps"][:, number], history["exposures"][number]),
            }
            for number, each in enumerate(runtime.accounts)
        ]
    first = constraints[0] if constraints else NONE
    empty: dict[str, Any] = {"largest_gap": [0.0] * len(columns["round"]), "exposure": {}, "unfairness": []}
    told |= {name: first[name] for name in NONE}
    told["history"] = {**_history(columns), **(first["history"] if constraints else empty)}
    return {**told, "constraints": constraints}


def standing(runtime: Runtime, number: int) -> dict[str, Any]:
    """Where a constraint stands now: what its groups have had, what they are owed, and the gaps between them."""
    each, totals = runtime.accounts[number], runtime.totals
    account = runtime.account(number)
    names, rounds = each.group_names, max(totals.rounds, 1)
    errors = [error if isfinite(error) else None for error in account.errors.tolist()]
    columns = (names, account.shares.tolist(), errors, totals.exposures[number].tolist())
    keys = ("group", "share", "share_error", "exposure")
    return {
        "constraint": each.title,
        "tolerance": each.tolerance if runtime.is_fair else None,
        "learned": each.fixed_shares is None,
        "groups": [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)],
        "pairs": [] if account.spent is None else named_gaps(account.spent, account.shares, names),
        "largest_gap": account.gap,
        "met_share": totals.met[number] / rounds if runtime.is_fair and totals.rounds else None,
    }


def _history(columns: dict[str, Any]) -> dict[str, Any]:
    return {
        "round": columns["round"].astype(np.int64).tolist(),
        "at": columns["at"].tolist(),
        "added_regret": columns["regret"].tolist(),
        "qualified": columns["qualified"].astype(np.int64).tolist(),
        "clicks": columns["clicks"].astype(np.int64).tolist(),
    }


def _own_history(constraint: ConstraintSpec, gaps: Floats, exposure: Floats) -> dict[str, Any]:
    names, shares = constraint.group_names, constraint.fixed_shares
    told: dict[str, Any] = {
        "largest_gap": gaps.tolist(),
        "exposure": {name: exposure[:, number].tolist() for number, name in enumerate(names)},
        "unfairness": [],
    }
    if shares is None:
        return told
    by_pair = pair_gaps(exposure, shares)
    for one in range(len(names)):
        for two in range(one + 1, len(names)):
            told["unfairness"].append({"groups": [names[one], names[two]], "values": by_pair[:, one, two].tolist()})
    return told
