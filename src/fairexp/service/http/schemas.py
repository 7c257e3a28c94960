"""The bodies of answers, for the OpenAPI document; `forms` has those of requests."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fairexp.service.policies.spec import PolicySpec


class RankedItem(BaseModel):
    """A shown candidate."""

    id: str
    position: int
    score: float
    group: str | dict[str, str] | None


class RankAnswer(BaseModel):
    """What to show, from the top down. `explanation` comes with `?explain=true`."""

    ranking_id: str
    policy: str
    version: int
    items: list[RankedItem]
    qualified: bool | None = Field(description="Whether the tolerance is met; null for rankers without one.")
    proof: str | None = Field(
        description="What is proven: found (within the tolerance), least (beyond it, no ranking has a smaller gap), "
        "impossible (beyond it, as every ranking is) or unproven (beyond it, one within it may exist)."
    )
    gap_bound: float | None = Field(
        description="No ranking has a smaller gap; of the first constraint that is not met, if any."
    )
    met: dict[str, bool | None] = Field(description="Which constraints are met, by name.")
    added_regret: float
    explanation: dict[str, Any] | None = None


class Problem(BaseModel):
    """What is wrong, and where."""

    code: str
    message: str
    field: str | None = None
    request_id: str | None = None


class ErrorAnswer(BaseModel):
    """The one shape of every error."""

    error: Problem


class FeedbackResult(BaseModel):
    """What was made of one ranking's feedback. `status` says whether it was learned from, or why not."""

    ranking_id: str
    accepted: int
    duplicates: int
    status: Literal[
        "learned", "measured", "noted", "duplicate", "window_closed", "model_replaced", "already_learned", "refused"
    ]
    error: Problem | None = None


class FeedbackAnswer(BaseModel):
    """One result for each ranking, in the order given. All of it is on disk and learned."""

    results: list[FeedbackResult]


class PolicyAnswer(BaseModel):
    """The result of declaring or changing a policy."""

    policy: str
    version: int
    changed: bool
    dry_run: bool
    action: str = Field(description="What was done, or would be done: created, changed, rolled back to ...")
    differences: list[str] = Field(description="Where the declared policy differs from the one before.")
    kept: list[str] = Field(description="What is taken over from the version before.")
    new: list[str] = Field(description="What begins with this version.")
    lost: list[str] = Field(description="What goes, which takes discard=true.")
    warnings: list[str]


class VersionInfo(BaseModel):
    """One version of a policy."""

    version: int
    at: float
    action: str
    origin: Literal["file", "api"]
    by: str
    lost: list[str]
    can_roll_back: bool
    spec: PolicySpec
    parameters: dict[str, Any] = Field(description="All parameters of the ranker.")


class ThetaInfo(BaseModel):
    """The linear model in short: its length, and the features that weigh most."""

    norm: float
    largest: list[dict[str, Any]]


class ReliabilityBin(BaseModel):
    """Orders that the ranker thought about as probable, and the share of them that clicks bore out."""

    model_config = ConfigDict(populate_by_name=True)

    low_end: float = Field(alias="from", description="Where the bin of probabilities begins.")
    to: float
    comparisons: float = Field(description="How many preferences of clicks it comes from; pairs of a list share one.")
    predicted: float = Field(description="The mean probability.")
    held: float = Field(description="The share that held.")
    low: float = Field(description="Where its 95% interval begins.")
    high: float


class ReliabilityInfo(BaseModel):
    """How orders turned out that the ranker had thought probable; `first`: of documents never learned from before."""

    summary: str
    all: list[ReliabilityBin]
    first: list[ReliabilityBin]


class PolicyInfo(BaseModel):
    """A policy and where it stands."""

    policy: str
    state: Literal["serving"]
    version: int
    spec: PolicySpec
    parameters: dict[str, Any] = Field(description="All parameters of the ranker, those by default included.")
    versions: list[VersionInfo]
    rounds: int
    events: int
    updates: int
    log_entries: int
    latency: dict[str, float] | None = Field(description="Of the latest rankings of this process, in milliseconds.")
    theta: ThetaInfo | None
    reliability: ReliabilityInfo | None = Field(description="Null for rankers without calibrated beliefs.")
    features: list[dict[str, Any]] = Field(description="What was seen of each feature, and how it is scaled.")


class ActionList(BaseModel):
    """What administrators did, newest first; `before` of the next page."""

    actions: list[dict[str, Any]]
    before: int | None


class PolicyList(BaseModel):
    """All policies."""

    policies: list[dict[str, Any]]


class FairnessAnswer(BaseModel):
    """Exposure by group, unfairness by pair, and how both came about: of the first constraint, and of each."""

    policy: str
    rounds: int
    tolerance: float | None
    groups: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    largest_gap: float | None
    largest_gap_as_drawn: float | None = Field(
        description="What it would be, had the host's own draw been shown each time; null for rankers without a host."
    )
    qualified_share: float | None
    added_regret: float
    expected_clicks: float | None = Field(
        description="Of all that was shown, by what the model expected then; null where scores say nothing of clicks."
    )
    expected_clicks_as_drawn: float | None = Field(description="The same of what the host would have shown by itself.")
    clicks_by_position: list[dict[str, Any]]
    history: dict[str, Any]
    constraints: list[dict[str, Any]]


class ChartsAnswer(BaseModel):
    """Charts in Vega-Lite, by name."""

    charts: dict[str, Any]


class RankingInfo(BaseModel):
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
    items: list[dict[str, Any]]
    explanation: dict[str, Any]
    feedback: list[dict[str, Any]]


class RankingList(BaseModel):
    """The latest rankings, newest first; `before` of the next page."""

    rankings: list[dict[str, Any]]
    before: str | None
    cut: str | None = Field(description="Why there are fewer than `limit`, where there are more; null otherwise.")


class ErasedAnswer(BaseModel):
    """How many rankings named the user; `erased` is false after a dry run, which changes nothing."""

    rankings: int
    erased: bool


class UserInfo(BaseModel):
    """What is kept about a user: in how many rankings, and fields by policy."""

    user: str
    rankings: int
    fields: dict[str, dict[str, Any]]


class ForgottenItem(BaseModel):
    """Whether fields of an item were kept; they are no more."""

    id: str
    forgotten: bool


class ItemsAnswer(BaseModel):
    """Of how many items and users fields were kept."""

    items: int
    users: int


class ItemInfo(BaseModel):
    """What is known of an item now; `counts` is null where the policy has no counters, or has not shown it lately."""

    id: str
    fields: dict[str, Any]
    counts: dict[str, float] | None


class Health(BaseModel):
    """Whether the process runs."""

    status: str


class Readiness(BaseModel):
    """Whether it is ready to serve, and how many policies are damaged in the store, and so out of service."""

    status: str
    damaged: int


class MetarankAnswer(BaseModel):
    """Metarank's answer to a ranking request."""

    took: int
    items: list[dict[str, Any]]


class EventVerdict(BaseModel):
    """What was made of one event; `reason` says why it changed nothing, `error` why it was refused."""

    id: str | None
    verdict: Literal[
        "learned",
        "measured",
        "noted",
        "duplicate",
        "window_closed",
        "model_replaced",
        "already_learned",
        "known",
        "stored",
        "ignored",
        "refused",
    ]
    reason: str | None = None
    error: Problem | None = None


class EventsAnswer(BaseModel):
    """Metarank's answer to feedback, and a verdict on each event; `updated` were learned from or stored."""

    accepted: int
    status: Literal["ok", "refused"]
    tookMillis: int
    updated: int
    ignored: int
    refused: int
    results: list[EventVerdict]
