"""What the reading routes tell about policies and rankings, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from fairexp.arrays import Floats
from fairexp.fairness.ledger import Ledger, pair_gaps
from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.records import Feedback, Shown
from fairexp.service.policies.rankers import weights_of
from fairexp.service.store.base import AddVersion
from fairexp.service.views.explain import explain, named_gaps

N_WEIGHTS = 10


def brief(live: LivePolicy) -> dict[str, Any]:
    """A policy in a line. Takes no lock, so that it can be told at once while the policy is busy."""
    if live.problem is not None or live.stale:
        return {"policy": live.row.name, "state": "unavailable"}
    runtime = live.runtime
    told = {"version": runtime.version, "ranker": runtime.spec.ranker, "rounds": runtime.totals.rounds}
    return {"policy": live.row.name, "state": "serving", **told}


def policy_report(live: LivePolicy, *, kept: list[int]) -> dict[str, Any]:
    """A policy, its versions (of those in `kept` there is a state to roll back to), and where it stands."""
    with live.lock:
        runtime, versions = live.runtime, list(live.versions)
        totals = runtime.totals
        return {
            "policy": live.row.name,
            "state": "serving",
            "version": runtime.version,
            "spec": runtime.spec.model_dump(mode="json"),
            "parameters": runtime.parameters,
            "versions": [_version(each, kept) for each in versions],
            "features": runtime.scale.report(runtime.spec.feature_names),
            "rounds": totals.rounds,
            "events": totals.events,
            "updates": totals.updates,
            "log_entries": runtime.seq,
            "theta": _theta(runtime),
        }


def _version(version: AddVersion, kept: list[int]) -> dict[str, Any]:
    return {
        "version": version.version,
        "at": version.at,
        "action": version.action,
        "origin": version.origin,
        "by": version.by,
        "lost": orjson.loads(version.lost),
        "can_roll_back": version.version in kept,
        "spec": orjson.loads(version.spec),
        "parameters": orjson.loads(version.parameters),
    }


def _theta(runtime: Runtime) -> dict[str, Any] | None:
    weights = weights_of(runtime.ranker)
    if weights is None:
        return None
    names = runtime.spec.feature_names
    largest = np.argsort(-np.abs(weights), kind="stable")[:N_WEIGHTS]
    return {
        "norm": float(np.linalg.norm(weights)),
        "largest": [{"feature": names[index], "weight": float(weights[index])} for index in largest],
    }


def fairness_report(live: LivePolicy, *, points: int, recent: bool) -> dict[str, Any]:
    """Exposure by group, unfairness by pair, and their history."""
    with live.lock:
        runtime = live.runtime
        totals, spec, shares = runtime.totals, runtime.spec, runtime.shares
        history = {name: np.array(column) for name, column in totals.history(points=points, recent=recent).items()}
        exposure = totals.exposure
        clicks = [
            {"position": number, "shown": int(seen), "clicks": int(clicked)}
            for number, (seen, clicked) in enumerate(zip(totals.shown_at, totals.clicked_at, strict=True), start=1)
        ]
        told = {
            "policy": live.row.name,
            "rounds": totals.rounds,
            "tolerance": spec.tolerance if runtime.is_fair else None,
            "qualified_share": totals.qualified / totals.rounds if runtime.is_fair and totals.rounds else None,
            "added_regret": totals.regret,
            "clicks_by_position": clicks,
        }
    names = spec.group_names
    told["groups"] = [
        {"group": name, "share": share, "exposure": float(amount)}
        for (name, share), amount in zip(spec.groups.items(), exposure, strict=True)
    ]
    told["pairs"] = [] if shares is None else named_gaps(exposure, shares, names)
    told["largest_gap"] = None if shares is None else Ledger(shares, exposure).largest_gap
    told["history"] = _history(history, shares, names)
    return told


def _history(columns: dict[str, Any], shares: Floats | None, names: list[str]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "round": columns["round"].astype(np.int64).tolist(),
        "at": columns["at"].tolist(),
        "largest_gap": columns["peak"].tolist(),
        "added_regret": columns["regret"].tolist(),
        "qualified": columns["qualified"].astype(np.int64).tolist(),
        "clicks": columns["clicks"].astype(np.int64).tolist(),
        "exposure": {name: columns["exposure"][:, number].tolist() for number, name in enumerate(names)},
        "unfairness": [],
    }
    if shares is None:
        return told
    gaps = pair_gaps(columns["exposure"], shares)
    for one in range(len(names)):
        for two in range(one + 1, len(names)):
            told["unfairness"].append({"groups": [names[one], names[two]], "values": gaps[:, one, two].tolist()})
    return told


def ranking_report(
    ranking_id: str, live: LivePolicy, shown: Shown, feedback: list[Feedback], *, why: bool = True
) -> dict[str, Any]:
    """A recorded ranking: what was shown, when, why, and what came back."""
    spec = live.spec(shown.version)
    names = spec.group_names
    clicked = {position for each in feedback for position in each.clicks}
    block = shown.considered.block[shown.place]
    items = [
        {
            "id": item,
            "position": shown.first + position + 1,
            "score": float(shown.scores[position]),
            "group": None if shown.groups is None else names[shown.groups[position]],
            "block": int(block[position]),
            "clicked": position in clicked,
        }
        for position, item in enumerate(shown.ids)
    ]
    told = {
        "ranking_id": ranking_id,
        "policy": live.row.name,
        "version": shown.version,
        "at": shown.at,
        "request_id": shown.context.get("request_id"),
        "query_id": shown.context.get("query_id"),
        "user": shown.context.get("user"),
        "session": shown.context.get("session"),
        "qualified": shown.qualified,
        "added_regret": shown.added_regret,
        "items": items,
        "feedback": [_feedback(each, shown) for each in feedback],
    }
    explanation = explain(shown, spec)
    if why:
        return {**told, "explanation": explanation}
    return {**told, "moved": explanation["moved"]}


def _feedback(feedback: Feedback, shown: Shown) -> dict[str, Any]:
    ids = shown.ids
    return {
        "at": feedback.at,
        "status": feedback.status,
        "clicked": [ids[position] for position in feedback.clicks],
        "measured": None if feedback.measured is None else feedback.measured[1].tolist(),
        "events": [
            {"id": event.id, "type": event.type, "item": ids[event.position], "weight": event.weight, "at": event.at}
            for event in feedback.events
        ],
    }
