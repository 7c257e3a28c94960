"""What an experiment is, as data: each YAML key with its type, its default and its meaning."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from fairexp.errors import ArgumentError
from fairexp.lab.simulation.audit import field_measures
from fairexp.lab.simulation.settings import SHARES
from fairexp.measures import IRRELEVANT, ZERO
from fairexp.registry import paper_settings

BETA_RULES = (*SHARES, "paper")
RANDOMISED = "randomised"
OF_THE_PAPER = ("pairrank", "fairexp-pairrank")

Count = Annotated[int, Field(ge=1, strict=True)]
Number = Annotated[int, Field(ge=0, strict=True)]
Text = Annotated[str, Field(min_length=1)]
Parameters = dict[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSpec(_Strict):
    """A data set with its groups: a world, a collection of the catalogue, or any LETOR set in a `folder`.

    Where a collection has no `folder`, the world `stand_in` takes its place, and every table says so. For worlds a fold
    is a world of its own. `paper_beta` is what the paper printed; `family` joins the groupings of the same data.
    """

    source: Text
    folder: Text | None = None
    group: Text | None = None
    folds: Count | list[Count] = 1
    stand_in: Text | None = None
    title: Text | None = None
    family: Text | None = None
    paper_beta: Annotated[float, Field(gt=0)] | None = None
    n_queries: Count | None = None
    rounds: Count | None = None

    @property
    def fold_list(self) -> list[int]:
        """The folds by number."""
        return list(range(1, self.folds + 1)) if isinstance(self.folds, int) else list(self.folds)


class RankerSpec(_Strict):
    """A ranker by name or import path, its fixed parameters, and the grid that the rest are chosen from.

    For pairrank and fairexp-pairrank `parameters: paper` are those of the paper.
    """

    ranker: Text
    parameters: Parameters = Field(default_factory=dict)
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)

    @field_validator("parameters", mode="before")
    @classmethod
    def _of_the_paper(cls, value: Any, info: ValidationInfo) -> Any:
        if value != "paper" or "ranker" not in info.data:
            return value
        try:
            return paper_settings(info.data["ranker"])
        except ArgumentError as error:
            raise ValueError(f"expected parameters by name, or paper for {' and '.join(OF_THE_PAPER)}") from error

    def choices(self) -> list[Parameters]:
        """Every combination of the grid, over the fixed parameters."""
        return [
            {**self.parameters, **dict(zip(self.grid, values, strict=True))} for values in product(*self.grid.values())
        ]


class Sweep(_Strict):
    """One parameter of one ranker over several values, the others as chosen; `users` None means all.

    `rivals` are swept beside it, each over its own trade-off parameter: the values by ranker, or none for those that
    the ranker declares itself.
    """

    ranker: Text
    parameter: Text = "tolerance"
    values: Annotated[list[float], Field(min_length=1)]
    users: list[Text] | None = None
    rivals: dict[Text, list[float]] = Field(default_factory=dict)


class Tuning(_Strict):
    """What parameters are chosen by: validation NDCG after `rounds` (None: all), over `seeds` seeds kept for that."""

    seeds: Count = 1
    rounds: Count | None = None


class Experiment(_Strict):
    """A whole experiment: every data set with every user, every ranker, fold and seed.

    `beta` is what group 0 is owed per unit of group 1: a rule ("average_utility", "total_utility", "size", "equal"), a
    number, or "paper", each data set's `paper_beta`. `exposure` is "randomised" (estimated for each setting on shuffled
    rankings with the same users, `exposure_sessions` of them), or a curve as elsewhere. `irrelevant` is what NDCG does
    with queries without a relevant document: "zero" or "skip". `measures` are those of the field that are taken besides
    ("field" for all).
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    title: Text | None = None
    data: Annotated[dict[str, DataSpec], Field(min_length=1)]
    users: Annotated[list[Text], Field(min_length=1)]
    rankers: Annotated[dict[str, RankerSpec], Field(min_length=1)]
    sweep: Sweep | None = None
    rounds: Count = 5000
    seeds: Count | list[Number] = 5
    length: Count = 10
    exposure: str | list[float] = RANDOMISED
    exposure_sessions: Count = 100_000
    beta: str | Annotated[float, Field(gt=0)] = "average_utility"
    stop_after: str | None = None
    irrelevant: str = ZERO
    measures: list[Text] = Field(default_factory=list)
    n_points: Count = 40
    tuning: Tuning = Tuning()
    records: Text | None = None

    @property
    def seed_list(self) -> list[int]:
        """The seeds by number."""
        return list(range(self.seeds)) if isinstance(self.seeds, int) else list(self.seeds)

    @property
    def needs_validation(self) -> bool:
        """Whether any parameter is to be chosen."""
        return any(len(spec.choices()) > 1 for spec in self.rankers.values())

    @field_validator("data", "rankers")
    @classmethod
    def _labels(cls, value: dict[str, Any]) -> dict[str, Any]:
        for label in value:
            if not label or set(label) & set("/\\@ \t\n") or label.startswith("."):
                raise ValueError(f"expected names without spaces, slashes and @, got {label!r}")
        return value

    @field_validator("beta")
    @classmethod
    def _beta(cls, value: str | float) -> str | float:
        if isinstance(value, str) and value not in BETA_RULES:
            raise ValueError(f"expected a number or one of {', '.join(BETA_RULES)}, got {value!r}")
        return value

    @field_validator("stop_after")
    @classmethod
    def _stop(cls, value: str | None) -> str | None:
        if value not in (None, "click", "any"):
            raise ValueError(f"expected click or any, got {value!r}")
        return value

    @field_validator("irrelevant")
    @classmethod
    def _irrelevant(cls, value: str) -> str:
        if value not in IRRELEVANT:
            raise ValueError(f"expected {' or '.join(IRRELEVANT)}, got {value!r}")
        return value

    @field_validator("measures")
    @classmethod
    def _measures(cls, value: list[str]) -> list[str]:
        try:
            field_measures(value)
        except ArgumentError as error:
            raise ValueError(str(error)) from error
        return value

    @model_validator(mode="after")
    def _references(self) -> Experiment:
        if len(set(self.seed_list)) < len(self.seed_list):
            raise ValueError(f"seeds: expected seeds that differ, got {self.seed_list}")
        if len({Path(user).stem for user in self.users}) < len(self.users):
            raise ValueError(f"users: expected users with different names, got {self.users}")
        if self.sweep is not None and self.sweep.ranker not in self.rankers:
            raise ValueError(f"sweep.ranker: expected one of {', '.join(self.rankers)}, got {self.sweep.ranker!r}")
        for rival in self.sweep.rivals if self.sweep is not None else []:
            if rival not in self.rankers:
                raise ValueError(f"sweep.rivals: expected some of {', '.join(self.rankers)}, got {rival!r}")
        for user in (self.sweep.users or []) if self.sweep is not None else []:
            if user not in self.users:
                raise ValueError(f"sweep.users: expected some of {', '.join(self.users)}, got {user!r}")
        for label, spec in self.data.items():
            if self.beta == "paper" and spec.paper_beta is None:
                raise ValueError(f"data.{label}.paper_beta: expected a number, as beta is 'paper', got nothing")
        return self
