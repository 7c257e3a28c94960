"""Where a policy stands in fairness: exposure by group, unfairness by pair, and their history, by constraint."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from fairexp.fairness.ledger import pair_gaps
from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.policies.constraints import ConstraintSpec
from fairexp.service.views.accounts import named_gaps

TOLD: dict[str, tuple[str, type]] = {
    "round": ("round", int),
    "at": ("at", float),
    "regret": ("added_regret", float),
    "qualified": ("qualified", int),
    "clicks": ("clicks", int),
    "expected": ("expected_clicks", float),
    "expected_as_drawn": ("expected_clicks_as_drawn", float),
}
"""Columns of the history as it is told."""

NONE: dict[str, Any] = {
    "tolerance": None,
    "groups": [],
    "pairs": [],
    "largest_gap": None,
    "largest_gap_as_drawn": None,
}


def fairness_report(
    live: LivePolicy, *, points: int, rounds: int | None = None, since: float | None = None
) -> dict[str, Any]:
    """Exposure by group, unfairness by pair, and their history, for each constraint; at the top, those of the first.

    The history is of the latest `rounds`, of the time `since` then, or of all; "as drawn" is what would have been, had
    the host's own draw been shown each time.
    """
    with live.lock:
        runtime = live.runtime
        totals = runtime.totals
        history = totals.history(points=points, rounds=rounds, since=since)
        columns, before = ({name: np.array(part[name]) for name in TOLD} for part in (history, history["before"]))
        clicks = [
            {"position": number, "shown": int(seen), "clicks": int(clicked)}
            for number, (seen, clicked) in enumerate(zip(totals.shown_at, totals.clicked_at, strict=True), start=1)
        ]
        estimates = runtime.is_fair and runtime.ranker.learner.click_log_odds() is not None
        expected = totals.expected if estimates else (None, None)
        told: dict[str, Any] = {
            "policy": live.row.name,
            "rounds": totals.rounds,
            "qualified_share": totals.qualified / totals.rounds if runtime.is_fair and totals.rounds else None,
            "added_regret": totals.regret,
            "expected_clicks": expected[0],
            "expected_clicks_as_drawn": expected[1],
            "clicks_by_position": clicks,
        }
        constraints = [
            {**standing(runtime, number), "history": _own_history(each, history, number)}
            for number, each in enumerate(runtime.accounts)
        ]
    first = constraints[0] if constraints else NONE
    empty: dict[str, Any] = {"largest_gap": [0.0] * len(columns["round"]), "exposure": {}, "unfairness": []}
    told |= {name: first[name] for name in NONE}
    told["history"] = {**_history(columns), **(first["history"] if constraints else empty)}
    told["history"]["before"] = {
        **{name: values[0] for name, values in _history(before).items()},
        **(first["history"]["before"] if constraints else {"exposure": {}}),
    }
    return {**told, "constraints": constraints}


def standing(runtime: Runtime, number: int) -> dict[str, Any]:
    """Where a constraint stands now: what its groups have had, what they are owed, and the gaps between them."""
    each, totals = runtime.accounts[number], runtime.totals
    account = runtime.account(number)
    names, rounds = each.group_names, max(totals.rounds, 1)
    errors = [error if isfinite(error) else None for error in account.errors.tolist()]
    drawn = totals.drawn_exposures[number].tolist() if runtime.is_fair else [None] * len(names)
    columns = (names, account.shares.tolist(), errors, totals.exposures[number].tolist(), drawn)
    keys = ("group", "share", "share_error", "exposure", "exposure_as_drawn")
    return {
        "constraint": each.title,
        "tolerance": each.tolerance if runtime.is_fair else None,
        "learned": each.fixed_shares is None,
        "groups": [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)],
        "pairs": [] if account.spent is None else named_gaps(account.spent, account.shares, names),
        "largest_gap": account.gap,
        "largest_gap_as_drawn": runtime.drawn.gap(number, account.shares),
        "met_share": totals.met[number] / rounds if runtime.is_fair and totals.rounds else None,
    }


def _history(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: columns[key].astype(kind).tolist() for key, (name, kind) in TOLD.items()}


def _own_history(constraint: ConstraintSpec, history: dict[str, Any], number: int) -> dict[str, Any]:
    names, shares = constraint.group_names, constraint.fixed_shares
    exposure, before = history["exposures"][number], history["before"]["exposures"][number]
    drawn_gaps = history["drawn_gaps"][:, number]
    told: dict[str, Any] = {
        "largest_gap": history["gaps"][:, number].tolist(),
        "largest_gap_as_drawn": [None if np.isnan(gap) else gap for gap in drawn_gaps.tolist()],
        "exposure": {name: exposure[:, group].tolist() for group, name in enumerate(names)},
        "before": {"exposure": dict(zip(names, before[0].tolist(), strict=True))},
        "unfairness": [],
    }
    if shares is None:
        return told
    by_pair = pair_gaps(exposure, shares)
    for one in range(len(names)):
        for two in range(one + 1, len(names)):
            told["unfairness"].append({"groups": [names[one], names[two]], "values": by_pair[:, one, two].tolist()})
    return told
