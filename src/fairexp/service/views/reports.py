"""What the reading routes tell about policies and rankings, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.feedback import Feedback
from fairexp.service.log.shown import Shown
from fairexp.service.policies.rankers import weights_of
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import policy_damaged
from fairexp.service.store.base import AddVersion
from fairexp.service.views.explain import explain

N_WEIGHTS = 10


def brief(live: LivePolicy) -> dict[str, Any]:
    """A policy in a line. Takes no lock, so that it can be told at once while the policy is busy."""
    if live.problem is not None:
        return {
            "policy": live.row.name,
            "state": "damaged",
            "problem": str(policy_damaged(live.row.name, live.problem)),
        }
    if live.stale:
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
            "reliability": _reliability(runtime),
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


def _reliability(runtime: Runtime) -> dict[str, Any] | None:
    found = runtime.ranker.reliability()
    if found is None:
        return None
    return {"summary": found.in_words(), "all": found.all.rows(), "first": found.first.rows()}


def ranking_report(
    ranking_id: str, live: LivePolicy, shown: Shown, feedback: list[Feedback], *, why: bool = True
) -> dict[str, Any]:
    """A recorded ranking: what was shown, when, why, and what came back."""
    spec = live.spec(shown.version)
    groups = groups_told(shown, spec)
    clicked = {position for each in feedback for position in each.clicks}
    block = shown.considered.block[shown.place]
    items = [
        {
            "id": item,
            "position": shown.first + position + 1,
            "score": float(shown.scores[position]),
            "group": groups[position],
            "drawn_at": shown.first + int(shown.place[position]) + 1 if shown.believed else None,
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
        "proof": shown.proof,
        "gap_bound": shown.gap_bound,
        "met": {account.name: account.met for account in shown.accounts},
        "added_regret": shown.added_regret,
        "items": items,
        "feedback": [_feedback(each, shown) for each in feedback],
    }
    explanation = explain(shown, spec)
    if why:
        for item, speaks in zip(items, _contributions(shown, spec), strict=True):
            item["contributions"] = speaks
        return {**told, "explanation": explanation}
    return {**told, "moved": explanation["moved"]}


def _contributions(shown: Shown, spec: PolicySpec) -> list[list[dict[str, Any]] | None]:
    """For each shown candidate what its features added to its score, those that added most first.

    None where scores are not linear in the features.
    """
    known, names = shown.contributions, spec.feature_names
    if known is None:
        return [None] * len(shown.shown)
    rows = zip(known.features.tolist(), known.amounts.tolist(), strict=True)
    return [
        [{"feature": names[index], "contribution": amount} for index, amount in zip(*row, strict=True)] for row in rows
    ]


def groups_told(shown: Shown, spec: PolicySpec) -> list[Any]:
    """The group of each shown candidate as requests give it: a name, or by attribute, or nothing."""
    if shown.labels:
        columns = [[spec.attributes[name][label] for label in labels] for name, labels in shown.labels.items()]
        return [dict(zip(shown.labels, row, strict=True)) for row in zip(*columns, strict=True)]
    if shown.groups is None:
        return [None] * len(shown.shown)
    return [spec.group_names[group] for group in shown.groups.tolist()]


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
