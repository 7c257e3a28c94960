"""The bodies of requests and answers. These models are the OpenAPI document, and they check what comes in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fairexp.service.policy import Label, PolicySpec, Strict

Name = Annotated[str, Field(min_length=1, max_length=256)]
Time = Annotated[float, Field(ge=0, le=1e12)]


class Candidate(Strict):
    """One candidate; features in the policy's order."""

    id: Name
    group: Label | None = None
    features: list[float]


class RankRequest(Strict):
    """Candidates one by one with their features as numbers; or `ids`, `groups` and the matrix as base64.

    `features` is then the base64 of the row-major little-endian float32 matrix (n, d).
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query_id": "shoes",
                    "candidates": [
                        {"id": "a", "group": "small", "features": [1.0, 0.2]},
                        {"id": "b", "group": "large", "features": [0.3, 0.9]},
                    ],
                }
            ]
        }
    )
    query_id: Name | None = None
    candidates: list[Candidate] | None = None
    ids: list[Name] | None = None
    groups: list[Label] | None = None
    features: str | None = None
    k: Annotated[int, Field(ge=1)] | None = None
    user: Name | None = None
    session: Name | None = None
    request_id: Name | None = Field(
        default=None, description="Yours, and new for each ranking: asking again with it gives the same answer again."
    )


class RankedItem(BaseModel):
    """A shown candidate."""

    id: str
    position: int
    score: float
    group: str | None


class RankAnswer(BaseModel):
    """What to show, from the top down. `explanation` comes with `?explain=true`."""

    ranking_id: str
    policy: str
    version: int
    items: list[RankedItem]
    qualified: bool | None = Field(description="Whether the tolerance could be met; null for rankers without one.")
    added_regret: int
    explanation: dict[str, Any] | None = None


class EventGiven(Strict):
    """Something a user did. Without `id`, the same type on the same item counts once."""

    id: Name | None = None
    type: Label = "click"
    item: Name | None = None
    position: Annotated[int, Field(ge=1)] | None = Field(default=None, description="From 1; instead of `item`.")
    weight: Annotated[float, Field(ge=-1e9, le=1e9)] | None = Field(
        default=None,
        description="Instead of the type's own: what it adds towards the threshold at which the position is clicked.",
    )
    at: Time | None = Field(default=None, description="Seconds since 1970.")


class FeedbackGiven(Strict):
    """Events for one ranking. `final` says that no more will come: learn even if nothing was clicked."""

    ranking_id: Name
    events: list[EventGiven]
    final: bool = False


class FeedbackRequest(Strict):
    """Feedback for one ranking (`ranking_id`, `events`), or for several (`batch`)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"ranking_id": "1-2-0011223344556677", "events": [{"id": "e1", "type": "click", "item": "a"}]}]
        }
    )
    ranking_id: Name | None = None
    events: list[EventGiven] | None = None
    final: bool = False
    batch: list[FeedbackGiven] | None = None


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
    status: Literal["learned", "noted", "duplicate", "window_closed", "model_replaced", "already_learned", "refused"]
    error: Problem | None = None


class FeedbackAnswer(BaseModel):
    """One result for each ranking, in the order given. All of it is on disk and learned."""

    results: list[FeedbackResult]


class PolicyAnswer(BaseModel):
    """The result of declaring or changing a policy."""

    policy: str
    version: int
    changed: bool
    kept: Literal["everything", "model", "nothing"] = Field(description="What was taken over from the version before.")
    message: str
    warnings: list[str]


class VersionInfo(BaseModel):
    """One version of a policy."""

    version: int
    at: float
    kept: str
    spec: PolicySpec
    parameters: dict[str, Any] | None = Field(description="All parameters of the ranker; null in older records.")


class ThetaInfo(BaseModel):
    """The linear model in short: its length, and the features that weigh most."""

    norm: float
    largest: list[dict[str, Any]]


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


class PolicyList(BaseModel):
    """All policies."""

    policies: list[dict[str, Any]]


class FairnessAnswer(BaseModel):
    """Exposure by group, unfairness by pair, and how both came about."""

    policy: str
    rounds: int
    tolerance: float | None
    groups: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    largest_gap: float | None
    qualified_share: float | None
    added_regret: int
    clicks_by_position: list[dict[str, Any]]
    history: dict[str, Any]


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
    added_regret: int
    items: list[dict[str, Any]]
    explanation: dict[str, Any]
    feedback: list[dict[str, Any]]


class RankingList(BaseModel):
    """The latest rankings, newest first; `before` of the next page."""

    rankings: list[dict[str, Any]]
    before: str | None


class ErasedAnswer(BaseModel):
    """How many rankings named the user; `erased` is false after a dry run, which changes nothing."""

    rankings: int
    erased: bool


class Health(BaseModel):
    """Whether the process runs, or whether it is ready to serve."""

    status: str


class MetarankField(BaseModel):
    """A named value, as Metarank's clients send it."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    name: Name
    value: bool | float | str | list[float] | list[str] | None = None


class MetarankItem(BaseModel):
    """An item to rank."""

    model_config = ConfigDict(extra="ignore")
    id: Name
    fields: list[MetarankField] = []


class MetarankRanking(BaseModel):
    """Metarank's ranking request and ranking event."""

    model_config = ConfigDict(extra="ignore")
    event: Literal["ranking"] = "ranking"
    id: Name
    timestamp: str | int | None = None
    user: Name | None = None
    session: Name | None = None
    fields: list[MetarankField] = []
    items: list[MetarankItem]


class MetarankInteraction(BaseModel):
    """Metarank's interaction event; one without `ranking` cannot be learned from here and is counted as ignored."""

    model_config = ConfigDict(extra="ignore")
    event: Literal["interaction"]
    id: Name
    ranking: Name | None = None
    timestamp: str | int | None = None
    user: Name | None = None
    session: Name | None = None
    type: Label
    item: Name
    fields: list[MetarankField] = []


class MetarankMetadata(BaseModel):
    """Metarank's item and user events: accepted, and ignored, because features come with each request here."""

    model_config = ConfigDict(extra="ignore")
    event: Literal["item", "user"]
    id: Name | None = None


class MetarankAnswer(BaseModel):
    """Metarank's answer to a ranking request."""

    took: int
    items: list[dict[str, Any]]


class MetarankAccepted(BaseModel):
    """Metarank's answer to feedback; `ignored` is ours."""

    accepted: int
    status: str
    tookMillis: int
    updated: int
    ignored: int
