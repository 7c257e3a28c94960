"""What the service answers, as values with names; fields that a newer service adds are left out."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """What is wrong, and where."""

    code: str
    message: str
    field: str | None = None
    request_id: str | None = None


class Item(Struct, frozen=True):
    """A shown candidate; positions count from 1."""

    id: str
    position: int
    score: float
    group: str | dict[str, str] | None


class Move(Struct, frozen=True):
    """A candidate that stands higher than it was drawn: past whom, for which constraints, against which orders."""

    item: str
    position: int
    drawn_at: int
    past: list[str]
    against_certain_orders: list[str]
    pinned: bool
    constraints: list[str]


class CertainOrder(Struct, frozen=True):
    """A shown candidate, and those `above` which it certainly belongs."""

    item: str
    above: list[str]


class Explanation(Struct, frozen=True):
    """Why a ranking is as it is; `summary` says it in words.

    `ledger` holds exposure before and after for the first constraint; `constraints` the same and more for each.
    """

    summary: list[str]
    blocks: list[list[str]]
    certain_orders: list[CertainOrder]
    moved: list[Move]
    left_out: list[str]
    pinned: list[str]
    added_regret: float
    qualified: bool | None
    proof: str | None
    gap_bound: float | None
    tolerance: float | None
    ledger: dict[str, Any] | None
    constraints: list[dict[str, Any]]


class RankedList(Struct, frozen=True):
    """What to show, from the top down; `qualified` says whether tolerances are met (None without one).

    `met` says it for each constraint by name. `proof` is "found" (within the tolerance), "least" (beyond it, and no
    ranking has a smaller gap), "impossible" (beyond it, and so is every ranking) or "unproven" (beyond it, and one
    within it may exist). No ranking has a gap below `gap_bound`.
    """

    ranking_id: str
    policy: str
    version: int
    items: list[Item]
    qualified: bool | None
    proof: str | None
    gap_bound: float | None
    met: dict[str, bool | None]
    added_regret: float
    explanation: Explanation | None = None


class FeedbackOutcome(Struct, frozen=True):
    """What was made of one ranking's feedback; `status` says whether it was learned from, or why not."""

    ranking_id: str
    accepted: int
    duplicates: int
    status: str
    error: Refusal | None = None


class Kept(Struct, frozen=True):
    """Of how many items and users fields were kept."""

    items: int
    users: int


class KnownItem(Struct, frozen=True):
    """What is known of an item now; `counts` is None where the policy counts nothing, or has not shown it lately."""

    id: str
    fields: dict[str, Any]
    counts: dict[str, float] | None


class KnownUser(Struct, frozen=True):
    """What is kept about a user: in how many rankings, and fields by policy."""

    user: str
    rankings: int
    fields: dict[str, dict[str, Any]]


class Change(Struct, frozen=True):
    """What was done to a policy, or would be done: what it keeps, what is new, and what it loses."""

    policy: str
    version: int
    changed: bool
    dry_run: bool
    action: str
    differences: list[str]
    kept: list[str]
    new: list[str]
    lost: list[str]
    warnings: list[str]


class PolicyLine(Struct, frozen=True):
    """A policy in a line; one that is not served for now has no more than name and state."""

    policy: str
    state: str
    version: int | None = None
    ranker: str | None = None
    rounds: int | None = None
    problem: str | None = None


class Version(Struct, frozen=True):
    """One version of a policy: when it came, by whom, and whether there is a state to roll back to."""

    version: int
    at: float
    action: str
    origin: str
    by: str
    lost: list[str]
    can_roll_back: bool
    spec: dict[str, Any]
    parameters: dict[str, Any]


class Policy(Struct, frozen=True):
    """A policy and where it stands; `theta` is its linear model in short, where it has one.

    `reliability` is how far clicks bore out what its ranker thought probable, where it says how probable orders are.
    """

    policy: str
    state: str
    version: int
    spec: dict[str, Any]
    parameters: dict[str, Any]
    versions: list[Version]
    rounds: int
    events: int
    updates: int
    log_entries: int
    latency: dict[str, float] | None
    theta: dict[str, Any] | None
    reliability: dict[str, Any] | None
    features: list[dict[str, Any]]


class Fairness(Struct, frozen=True):
    """Exposure by group, unfairness by pair, and how both came about; `constraints` has it for each."""

    policy: str
    rounds: int
    tolerance: float | None
    groups: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    largest_gap: float | None
    largest_gap_as_drawn: float | None
    qualified_share: float | None
    added_regret: float
    expected_clicks: float | None
    expected_clicks_as_drawn: float | None
    clicks_by_position: list[dict[str, Any]]
    history: dict[str, Any]
    constraints: list[dict[str, Any]]


class RecordedItem(Struct, frozen=True):
    """A candidate of a recorded ranking, with the block it was drawn in, and whether it was clicked."""

    id: str
    position: int
    score: float
    group: str | dict[str, str] | None
    block: int
    clicked: bool
    drawn_at: int | None = None
    contributions: list[dict[str, Any]] | None = None


class Record(Struct, frozen=True):
    """A recorded ranking: what was shown, when, why, and what came back."""

    ranking_id: str
    policy: str
    version: int
    at: float
    request_id: str | None
    query_id: str | None
    user: str | None
    session: str | None
    qualified: bool | None
    proof: str | None
    gap_bound: float | None
    met: dict[str, bool | None]
    added_regret: float
    items: list[RecordedItem]
    explanation: Explanation
    feedback: list[dict[str, Any]]


class Action(Struct, frozen=True):
    """What an administrator did: when, who, what, to which policy."""

    number: int
    at: float
    by: str
    action: str
    policy: str | None
    details: dict[str, Any] | None = None
