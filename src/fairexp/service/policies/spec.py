"""What a policy is: which ranker, for which groups, learning from which features, kept for how long."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

from fairexp.errors import DataError
from fairexp.fairness.exposure import CURVES
from fairexp.registry import keeps_account
from fairexp.service.policies.rankers import RANKERS
from fairexp.service.problems import ServiceError

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
Label = Annotated[str, Field(min_length=1, max_length=128)]
Positive = Annotated[float, Field(gt=0, le=1e12)]
BRANCH = "~"
"""How the names of a union's branches begin: they appear in pydantic's paths, and are no fields of a request."""


class Strict(BaseModel):
    """No unknown fields, no text where a number belongs, no NaN and no infinity."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Feature(Strict):
    """One feature. Where shift or scale is given, the ranker sees (value - shift) / scale; otherwise see `scaling`.

    `default` is for Metarank's fields that lack it.
    """

    name: Label
    shift: Annotated[float, Field(ge=-1e30, le=1e30)] | None = None
    scale: Annotated[float, Field(ge=1e-30, le=1e30)] | None = None
    default: float | None = None


def _is_list(value: Any) -> str:
    return "~list" if isinstance(value, list) else "~count"


def _is_name(value: Any) -> str:
    return "~name" if isinstance(value, str) else "~feature"


FeatureOrName = Annotated[Annotated[Label, Tag("~name")] | Annotated[Feature, Tag("~feature")], Discriminator(_is_name)]


class FeedbackSpec(Strict):
    """How events become clicks: a position counts as clicked once its events' weights add up to `threshold`."""

    events: dict[Label, float] = Field(default={"click": 1.0}, min_length=1, max_length=100)
    threshold: Positive = 1.0
    window_seconds: Positive = 86_400.0


class RetentionSpec(Strict):
    """How long the record of a shown ranking is kept, at the least."""

    rankings_seconds: Positive = 7 * 86_400.0


class PolicySpec(Strict):
    """A policy, as declared in a YAML file or over the API.

    >>> spec = PolicySpec(features=["bm25", "age"], groups={"small": 1, "large": 2}, length=3)
    >>> spec.n_features, spec.group_names, spec.ranker
    (2, ['small', 'large'], 'fairexp-pairrank')
    """

    ranker: Literal[*RANKERS] = "fairexp-pairrank"  # type: ignore[valid-type]
    parameters: dict[Label, Any] = Field(default={}, max_length=50)
    features: Annotated[
        Annotated[int, Field(ge=1), Tag("~count")]
        | Annotated[list[FeatureOrName], Field(min_length=1, fail_fast=True), Tag("~list")],
        Discriminator(_is_list),
    ]
    scaling: Literal["running", "none", "query"] = Field(
        default="running",
        description="Features of no given scale are brought to one size by what has been seen of them (running), by "
        "the range of each query's candidates (query), or not at all (none).",
    )
    groups: dict[Label, Positive] = Field(default={}, max_length=1000)
    group_field: Label | None = None
    tolerance: Annotated[float, Field(ge=0)] = 0.1
    exposure: Annotated[
        Annotated[Literal[*CURVES], Tag("~count")] | Annotated[list[Positive], Field(fail_fast=True), Tag("~list")],  # type: ignore[valid-type]
        Discriminator(_is_list),
    ] = "reciprocal"
    length: Annotated[int, Field(ge=1)] = 10
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    feedback: FeedbackSpec = FeedbackSpec()
    retention: RetentionSpec = RetentionSpec()

    @model_validator(mode="after")
    def _consistent(self) -> PolicySpec:
        if len(self.groups) == 1:
            raise ValueError("groups: expected at least two, or none for a ranker without fairness, got 1")
        if keeps_account(self.ranker) and not self.groups:
            raise ValueError(f"groups: expected at least two groups with their shares, which {self.ranker} keeps fair")
        if isinstance(self.features, list) and len(set(self.feature_names)) < len(self.features):
            raise ValueError("features: expected names that differ")
        if self.retention.rankings_seconds < self.feedback.window_seconds:
            raise ValueError(
                "retention.rankings_seconds: expected at least feedback.window_seconds "
                f"({self.feedback.window_seconds:g}), got {self.retention.rankings_seconds:g}"
            )
        return self

    @property
    def n_features(self) -> int:
        return self.features if isinstance(self.features, int) else len(self.features)

    @property
    def columns(self) -> list[Feature]:
        """Every feature in order; unnamed ones are called f0, f1, ..."""
        if isinstance(self.features, int):
            return [Feature.model_construct(name=name) for name in self.feature_names]
        return [each if isinstance(each, Feature) else Feature.model_construct(name=each) for each in self.features]

    @property
    def feature_names(self) -> list[str]:
        if isinstance(self.features, int):
            return [f"f{number}" for number in range(self.features)]
        return [each.name if isinstance(each, Feature) else each for each in self.features]

    @property
    def group_names(self) -> list[str]:
        return list(self.groups)


def parse_policy(given: Any) -> PolicySpec:
    """A `PolicySpec` from plain data; a `ServiceError` names the field that is wrong."""
    try:
        return PolicySpec.model_validate(given)
    except ValidationError as error:
        raise first_problem(error) from None


def first_problem(error: ValidationError) -> ServiceError:
    """The first thing that pydantic found wrong, in our words."""
    problem = error.errors(include_url=False, include_input=False)[0]
    message = str(problem["msg"]).removeprefix("Value error, ")
    path = [part for part in problem["loc"] if not str(part).startswith(BRANCH)]
    field = ""
    for part in path:
        field += f"[{part}]" if isinstance(part, int) else f".{part}" if field else str(part)
    if not field and ":" in message:
        field, _, rest = message.partition(": ")
        message = rest
    field = field or "body"
    return ServiceError("invalid", f"{field}: {message[:1].lower()}{message[1:]}", field=field)


def load_policies(path: Path) -> dict[str, PolicySpec]:
    """The policies of a YAML file, which holds one mapping `policies: {name: ...}`."""
    import yaml

    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(path, f"is not YAML ({' '.join(str(error).split())})") from None
    if not isinstance(given, dict) or not isinstance(given.get("policies"), dict) or len(given) != 1:
        raise DataError(path, "expected one mapping `policies:` with a policy under each name")
    found = {}
    for name, spec in given["policies"].items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise DataError(path, f"policy name {name!r}: expected small letters, digits, - and _, at most 64")
        try:
            found[name] = parse_policy(spec)
        except ServiceError as error:
            raise DataError(path, f"policy {name}: {error}") from None
    return found
