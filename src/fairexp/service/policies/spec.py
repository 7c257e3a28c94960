"""What a policy is: which ranker, for which groups, learning from which features, kept for how long."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, ValidationError, model_validator

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import CURVES
from fairexp.prior import read_learned
from fairexp.rankers import FAIR
from fairexp.registry import keeps_account, parameters_of
from fairexp.service.policies.columns import Columns
from fairexp.service.policies.constraints import TAKEN, ConstraintSpec
from fairexp.service.policies.forms import Label, Positive, Strict
from fairexp.service.policies.rankers import RANKERS
from fairexp.service.problems import misfit
from fairexp.validation_messages import found_by_pydantic
from fairexp.yaml_reader import read_mapping

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
CALLER_ORDER = "caller_order"
"""The feature that a policy has whose prior goes by it: minus the logarithm of a candidate's place in the request."""

GROUP = "group"
"""The attribute of candidates that `groups` are the labels of."""


class Feature(Strict):
    """One feature. Where shift or scale is given, the ranker sees (value - shift) / scale; otherwise see `scaling`.

    `default` is for requests by field that lack it. With a `counter` requests do not bring it: it is how often the item
    was shown, how often it was clicked, or the rate of both, drawn to the mean of all while it was shown little.
    """

    name: Label
    shift: Annotated[float, Field(ge=-1e30, le=1e30)] | None = None
    scale: Annotated[float, Field(ge=1e-30, le=1e30)] | None = None
    default: float | None = None
    counter: Literal["shown", "clicked", "rate"] | None = None


def _is_list(value: Any) -> str:
    return "~list" if isinstance(value, list) else "~count"


def _is_name(value: Any) -> str:
    return "~name" if isinstance(value, str) else "~feature"


FeatureOrName = Annotated[Annotated[Label, Tag("~name")] | Annotated[Feature, Tag("~feature")], Discriminator(_is_name)]


class FeedbackSpec(Strict):
    """How events become clicks: a position counts as clicked once its events' weights add up to `threshold`.

    Events of the types `viewed` say that a position was seen, and may bring what exposure was measured: at most
    `max_exposure` times the largest of the policy's curve. With several `grades`, a click is worth as many of them
    as its weights have thresholds, for rankers that can use that.
    """

    events: dict[Label, float] = Field(default={"click": 1.0}, min_length=1, max_length=100)
    threshold: Positive = 1.0
    grades: Annotated[int, Field(ge=1, le=10)] = 1
    viewed: list[Label] = Field(default=["viewed"], max_length=20)
    max_exposure: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    window_seconds: Positive = 86_400.0


class RetentionSpec(Strict):
    """How long the record of a shown ranking is kept, at the least."""

    rankings_seconds: Positive = 7 * 86_400.0


class PriorSpec(Strict):
    """What a policy believes before its first click, worth `strength` observed pairs of documents.

    `weights` are by feature, in the features' own units: a difference of 1 in score says that the odds of preferring
    one candidate to another are e to 1. `caller_order` believes in the order in which requests list candidates: with 1,
    the odds of the candidate at position i against that at j are j to i. `spread` is the mean squared difference of a
    feature between two candidates, where the scale in force does not tell.
    """

    weights: dict[Label, Annotated[float, Field(ge=-1e30, le=1e30)]] = Field(default={})
    caller_order: Annotated[float, Field(gt=0, le=1e6)] | None = None
    strength: Annotated[float, Field(ge=0, le=1e12)]
    spread: dict[Label, Positive] = Field(default={})


class LabelField(Strict):
    """The field of items that holds their label, or their provider, whose label `providers` tells."""

    field: Label
    providers: dict[Label, Label] = Field(default={}, max_length=100_000)
    other_providers: Label | None = None

    def label_of(self, name: str | None, labels: Collection[str]) -> str | None:
        """The one of `labels` that a name in a request or a field stands for; a name of no provider for itself."""
        if name is None or (not self.providers and self.other_providers is None):
            return name
        return self.providers.get(name, name if name in labels else self.other_providers or name)

    def check(self, labels: Collection[str], where: str, what: str) -> None:
        """A `ValueError` if a provider has none of `labels`."""
        named = [*self.providers.values(), *([] if self.other_providers is None else [self.other_providers])]
        for label in named:
            if label not in labels:
                known = ", ".join(labels) or "none"
                raise ValueError(f"{where}: expected {what} ({known}), got {label[:80]!r}")


def _is_table(value: Any) -> str:
    return "~table" if isinstance(value, dict | LabelField) else "~name"


FieldOrName = Annotated[Annotated[Label, Tag("~name")] | Annotated[LabelField, Tag("~table")], Discriminator(_is_table)]


class ItemsSpec(Strict):
    """That fields of items and users are kept, of at most so many each; those written longest ago go first."""

    most: Annotated[int, Field(ge=1)] = 10_000


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
    groups: dict[Label, Positive] = Field(
        default={}, max_length=1000, description="With `tolerance`, the short form of one constraint: shares by group."
    )
    constraints: list[ConstraintSpec] = Field(
        default=[], max_length=8, description="What must be fair at once, the most important first."
    )
    group_field: Label | None = None
    providers: dict[Label, Label] = Field(
        default={}, max_length=100_000, description="The group of each provider, where `group_field` holds providers."
    )
    other_providers: Label | None = Field(default=None, description="The group of all providers not among them.")
    label_fields: dict[Label, FieldOrName] = Field(
        default={},
        max_length=32,
        description="With `constraints`: the field of items that holds the label of each attribute, or the provider, "
        "with the label of each.",
    )
    items: ItemsSpec | None = None
    tolerance: Annotated[float, Field(ge=0)] = 0.1
    exposure: Annotated[
        Annotated[Literal[*CURVES], Tag("~count")] | Annotated[list[Positive], Field(fail_fast=True), Tag("~list")],  # type: ignore[valid-type]
        Discriminator(_is_list),
    ] = "reciprocal"
    length: Annotated[int, Field(ge=1)] = 10
    pages: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="How many rankings of that length may continue each other."
    )
    max_weight: Annotated[float, Field(gt=0, le=1e6)] = Field(
        default=100.0, description="The largest weight that a request may have."
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    prior: PriorSpec | None = None
    feedback: FeedbackSpec = FeedbackSpec()
    retention: RetentionSpec = RetentionSpec()

    @model_validator(mode="after")
    def _consistent(self) -> PolicySpec:
        if len(self.groups) == 1:
            raise ValueError("groups: expected at least two, or none for a ranker without fairness, got 1")
        if self.constraints:
            self._check_constraints()
        elif keeps_account(self.ranker) and not self.groups:
            raise ValueError(
                f"groups: expected at least two groups with their shares, which {self.ranker} keeps fair, got none"
            )
        if isinstance(self.features, list) and len(set(self.feature_names)) < self.n_features:
            raise ValueError("features: expected names that differ, got one of them again")
        self._check_prior()
        if self.pages > 1 and isinstance(self.exposure, list) and len(self.exposure) < self.depth:
            raise ValueError(f"exposure: expected {self.depth} positions, for all pages, got {len(self.exposure)}")
        if self.retention.rankings_seconds < self.feedback.window_seconds:
            raise ValueError(
                "retention.rankings_seconds: expected at least feedback.window_seconds "
                f"({self.feedback.window_seconds:g}), got {self.retention.rankings_seconds:g}"
            )
        return self

    def _check_prior(self) -> None:
        if self.prior is None:
            return
        if "prior" not in parameters_of(self.ranker):
            raise ValueError(f"prior: expected a ranker that can start from one, such as pairrank, got {self.ranker}")
        for field, named in (("weights", self.prior.weights), ("spread", self.prior.spread)):
            unknown = next((name for name in named if name not in self.feature_names), None)
            if unknown is not None:
                raise ValueError(f"prior.{field}: expected names of features, got {unknown!r}")

    @model_validator(mode="after")
    def _known_groups(self) -> PolicySpec:
        self.source_of_groups.check(self.groups, "providers", "groups of the policy")
        if self.label_fields and self.group_field is not None:
            raise ValueError("group_field: expected none beside label_fields, which go by attribute, got one")
        for attribute, source in self.label_sources.items():
            if attribute not in self.attributes:
                known = ", ".join(self.attributes) or "none"
                raise ValueError(f"label_fields: expected attributes of constraints ({known}), got {attribute[:80]!r}")
            source.check(self.attributes[attribute], f"label_fields.{attribute}.providers", "labels of the attribute")
        return self

    @property
    def source_of_groups(self) -> LabelField:
        """Where groups come from, where requests need not bring them."""
        return LabelField.model_construct(
            field=self.group_field, providers=self.providers, other_providers=self.other_providers
        )

    @property
    def label_sources(self) -> dict[str, LabelField]:
        """Where the labels of attributes come from, where requests need not bring them."""
        return {
            attribute: given if isinstance(given, LabelField) else LabelField(field=given)
            for attribute, given in self.label_fields.items()
        }

    @property
    def requested(self) -> Columns:
        """What requests bring: all features but counters."""
        given = [column for column in self.declared if column.counter is None]
        names, defaults = tuple(each.name for each in given), tuple(each.default for each in given)
        fields = tuple((attribute, source.field) for attribute, source in self.label_sources.items())
        return Columns(names, defaults, self.group_field, self.items is not None, fields)

    @property
    def n_declared(self) -> int:
        """How many features are declared."""
        return self.features if isinstance(self.features, int) else len(self.features)

    @property
    def n_features(self) -> int:
        """How many features the ranker sees."""
        return self.n_declared + self.sees_order

    @property
    def sees_order(self) -> bool:
        """Whether the order of candidates in a request is the last feature."""
        return self.prior is not None and self.prior.caller_order is not None

    @property
    def depth(self) -> int:
        """How many positions all pages have."""
        return self.length * self.pages

    @property
    def declared(self) -> list[Feature]:
        """The features that are declared, in order; unnamed ones are called 1, 2, ... as in LETOR files."""
        if isinstance(self.features, int):
            return [Feature.model_construct(name=str(number)) for number in range(1, self.features + 1)]
        return [each if isinstance(each, Feature) else Feature.model_construct(name=each) for each in self.features]

    @property
    def columns(self) -> list[Feature]:
        """Every feature that the ranker sees."""
        return [*self.declared, Feature.model_construct(name=CALLER_ORDER, shift=0.0, scale=1.0)][: self.n_features]

    @property
    def feature_names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def group_names(self) -> list[str]:
        return list(self.groups)

    @property
    def shares(self) -> Floats | None:
        """What each group (G,) is owed, in the order of `group_names`; None without groups."""
        return np.array(list(self.groups.values())) if self.groups else None

    @property
    def accounts(self) -> list[ConstraintSpec]:
        """The constraints, in the order of their priority; the short form is one, called `groups`."""
        if not self.groups:
            return self.constraints
        one: dict[str, Any] = {"labels": {GROUP: self.group_names}, "shares": self.groups, "tolerance": self.tolerance}
        return [ConstraintSpec.model_construct(name=TAKEN, **one)]

    @property
    def attributes(self) -> dict[str, list[str]]:
        """The attributes of candidates that constraints go by, and their labels."""
        return {name: labels for each in self.constraints for name, labels in each.labels.items()}

    def _check_constraints(self) -> None:
        if self.groups:
            raise ValueError("constraints: expected these, or groups and tolerance, which stand for one, got both")
        if self.tolerance != PolicySpec.model_fields["tolerance"].default:
            raise ValueError("tolerance: expected none beside constraints, each of which has its own, got one")
        if not self.ranker.startswith(FAIR):
            raise ValueError(f"constraints: expected a ranker {FAIR}HOST, which keeps them, got {self.ranker}")
        titles = [each.title for each in self.constraints]
        if len(set(titles)) < len(titles):
            raise ValueError(f"constraints: expected names that differ, got {', '.join(titles)}")
        for each in self.constraints:
            for name, labels in each.labels.items():
                if labels != self.attributes[name]:
                    raise ValueError(f"constraints: expected the same labels of {name!r} everywhere, got others")


def parse_policy(given: Any) -> PolicySpec:
    """A `PolicySpec` from plain data; a `ServiceError` names the field that is wrong."""
    try:
        return PolicySpec.model_validate(given)
    except ValidationError as error:
        raise misfit(found_by_pydantic(error.errors(include_url=False))) from None


def load_policies(path: Path) -> dict[str, PolicySpec]:
    """The policies of a YAML file, which holds one mapping `policies: {name: ...}`."""
    read = read_mapping(path, "policies", example="policies: {shop: {features: 5}}")
    policies = read.values.get("policies")
    if not isinstance(policies, dict) or len(read.values) != 1:
        told = f"{path} with {', '.join(read.values)}"
        raise ArgumentError("policies", told, "one mapping `policies:` with a policy under each name")
    found = {}
    for name, spec in policies.items():
        keys = ("policies", str(name))
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ArgumentError(
                f"policies ({read.places[keys]})", repr(name), "names of small letters, digits, - and _, at most 64"
            )
        try:
            found[name] = PolicySpec.model_validate(_with_prior(spec, path.parent))
        except ValidationError as error:
            mistake = found_by_pydantic(error.errors(include_url=False), PolicySpec)
            raise replace(mistake, path=(*keys, *mistake.path)).at(read.places) from None
    return found


def _with_prior(given: Any, folder: Path) -> Any:
    """A policy with the prior that its `prior: {file: ...}` names, and with that file's curve if it has none itself."""
    named = given.get("prior") if isinstance(given, dict) else None
    if not isinstance(named, dict) or not isinstance(named.get("file"), str):
        return given
    learned = read_learned(folder / named["file"])
    belief, names = learned.prior, learned.prior.feature_names or ()
    belief.check_scaling("query" if given.get("scaling") == "query" else "none")
    prior = {
        "weights": dict(zip(names, belief.weights.tolist(), strict=True)),
        "spread": {name: spread for name, spread in zip(names, belief.spread.tolist(), strict=True) if spread > 0},
        "strength": belief.strength,
    }
    own = {key: value for key, value in named.items() if key != "file"}
    curve = {} if learned.exposure is None else {"exposure": learned.exposure}
    return {**curve, **given, "prior": {**prior, **own}}
