"""Wrong arguments at the library's doors: every one is an error of `fairexp.errors`, never one of Python or NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from fairexp import Constraint, FairExp, Ledger, PairRank, Query, RandomRanker
from fairexp.errors import FairexpError
from fairexp.fairness import best_template
from fairexp.fairness.exposure import estimate_exposure, exposure_curve, reachable_gap
from fairexp.lab.data import (
    Dataset,
    GroupRule,
    collection,
    describe,
    group_shares,
    group_table,
    load,
    open_data,
    read_letor,
    world,
)
from fairexp.lab.simulation import simulate
from fairexp.lab.simulation.recorder import Recording
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings, shares_of
from fairexp.lab.users import (
    Cascade,
    DependentClickModel,
    PositionBased,
    dependent_clicks,
    load_user,
    preset_grades,
    randomised_clicks,
    swapped_clicks,
)
from fairexp.measures import MAX_UF, parse_measure
from fairexp.registry import classes_of, construct, parameters_of, ranker_class

Arguments = dict[str, Any]
DATA = world("yahoo-9", n_queries=3)
SQUARE = np.zeros((4, 4), dtype=np.bool_)
WRONG = (
    None,
    "x",
    "3",
    b"x",
    3,
    -1,
    0,
    2.5,
    float("nan"),
    float("inf"),
    True,
    [],
    [1],
    ["a", "b"],
    [[1, 2], [3]],
    [None],
    (1, 2, 3),
    {},
    {"a": 1},
    set(),
    1 + 2j,
    10**30,
    np.ones((2, 3)),
    np.array(["a"]),
    np.array([]),
    np.array([1, 2], dtype=object),
    Path("no-such-place"),
    DATA,
    object(),
)
"""Values that people pass by mistake; where one of them is right, the call may succeed."""


class Door(NamedTuple):
    """A call, and what it is rightly called with: made anew each time, with a folder to work in."""

    call: Callable[..., Any]
    arguments: Callable[[Path], Arguments]


def letor(folder: Path) -> Path:
    """A folder of MQ2008's layout, and a file in it."""
    place = folder / "Fold1" / "train.txt"
    if not place.exists():
        place.parent.mkdir()
        values = " ".join(f"{feature}:{feature % 3}" for feature in range(1, 46))
        place.write_text("".join(f"{d % 2} qid:{q} {values} 46:{d}\n" for q in range(3) for d in range(4)))
    return place


def fresh(folder: Path) -> Path:
    """A folder that is not there yet."""
    return folder / f"run-{len(list(folder.iterdir()))}"


def fair() -> FairExp:
    return FairExp(PairRank(DATA.n_features, length=3), tolerance=5.0, seed=0)


def ranked(**arguments: Any) -> Any:
    return fair().rank(**arguments)


def updated(**arguments: Any) -> None:
    ranker = fair()
    ranking = ranker.rank(DATA.query(0))
    ranker.update(**{"ranking": ranking, **arguments})


def simulated(**arguments: Any) -> Any:
    return simulate(arguments.pop("ranker"), arguments.pop("train"), arguments.pop("user"), **arguments)


def run_of(**arguments: Any) -> Any:
    return run(RunSettings(**arguments))


def run_on(**arguments: Any) -> Any:
    return run(RunSettings("random", data=DataSettings(**arguments), rounds=1, n_points=1))


RESULT = run(RunSettings("random", data=DataSettings("yahoo-9", n_queries=2), rounds=1, n_points=1))

DOORS: dict[str, Door] = {
    "simulate": Door(
        simulated,
        lambda folder: {
            "ranker": RandomRanker(DATA.n_features, length=3, seed=0),
            "train": DATA,
            "user": dependent_clicks("perfect"),
            "rounds": 1,
            "exposure": "reciprocal",
            "shares": "equal",
            "heldout": None,
            "validation": None,
            "seed": 0,
            "n_points": 1,
            "irrelevant": "zero",
            "folder": fresh(folder),
            "settings": {},
            "recording": Recording(),
            "progress": None,
        },
    ),
    "simulate by name": Door(
        simulated,
        lambda folder: {"ranker": "random", "train": "frequent", "user": "perfect", "rounds": 1, "n_points": 1},
    ),
    "run": Door(
        run_of,
        lambda folder: {
            "ranker": "fairexp-pairrank",
            "parameters": {},
            "data": DataSettings("yahoo-9", n_queries=2),
            "user": "perfect",
            "stop_after": None,
            "rounds": 1,
            "seed": 0,
            "length": 3,
            "exposure": "reciprocal",
            "shares": "equal",
            "n_points": 1,
            "recording": Recording(),
            "validate": False,
            "irrelevant": "zero",
        },
    ),
    "DataSettings, a collection": Door(
        run_on,
        lambda folder: {
            "source": str(letor(folder)),
            "folder": None,
            "fold": 1,
            "heldout": str(letor(folder)),
            "group": "46:0.5",
            "n_queries": 2,
            "seed": 0,
            "columns": None,
        },
    ),
    "DataSettings, a world": Door(run_on, lambda folder: {"source": "yahoo-9", "n_queries": 2, "seed": 0}),
    "Recording": Door(Recording, lambda folder: {"columns": ("shown",), "measures": ("Gini",), "draws": 3}),
    "shares_of": Door(shares_of, lambda folder: {"spec": "equal", "dataset": DATA}),
    "result[...]": Door(RESULT.__getitem__, lambda folder: {"measure": MAX_UF}),
    "result.value": Door(RESULT.value, lambda folder: {"measure": MAX_UF}),
    "result.write": Door(RESULT.write, lambda folder: {"folder": folder}),
    "parse_measure": Door(parse_measure, lambda folder: {"text": "max UF"}),
    "world": Door(world, lambda folder: {"name": "yahoo-9", "n_queries": 2, "seed": 0, "part": "train"}),
    "open_data, a world": Door(
        open_data, lambda folder: {"source": "yahoo-9", "n_queries": 2, "seed": 0, "group": None}
    ),
    "open_data, a collection": Door(
        open_data,
        lambda folder: {
            "source": "mq2008",
            "folder": letor(folder).parents[1],
            "fold": 1,
            "part": "train",
            "group": "46:0.5",
            "n_queries": 2,
        },
    ),
    "open_data, a file": Door(
        open_data, lambda folder: {"source": str(letor(folder)), "group": "46:0.5", "n_queries": 2}
    ),
    "load": Door(
        load,
        lambda folder: {
            "name": "mq2008",
            "folder": str(letor(folder).parents[1]),
            "fold": 1,
            "part": "train",
            "group": GroupRule(feature=46, thresholds=(0.5,)),
            "scale": "query",
            "cache": False,
        },
    ),
    "collection": Door(collection, lambda folder: {"name": "mq2008"}),
    "read_letor": Door(
        read_letor, lambda folder: {"path": letor(folder), "n_features": 46, "scale": "query", "cache": False}
    ),
    "describe": Door(describe, lambda folder: {"dataset": DATA}),
    "group_table": Door(group_table, lambda folder: {"dataset": DATA}),
    "group_shares": Door(group_shares, lambda folder: {"dataset": DATA, "by": "size"}),
    "Dataset": Door(
        Dataset,
        lambda folder: {
            "features": np.eye(3, dtype=np.float32),
            "grades": np.array([1, 0, 2]),
            "offsets": np.array([0, 2, 3]),
            "query_ids": ("a", "b"),
            "groups": np.array([0, 1, 0]),
        },
    ),
    "with_groups": Door(DATA.with_groups, lambda folder: {"groups": DATA.groups, "names": ["a", "b"]}),
    "grouped": Door(DATA.grouped, lambda folder: {"rule": "feature-9"}),
    "grouped_by_feature": Door(
        DATA.grouped_by_feature, lambda folder: {"feature": 1, "threshold": 0.3, "on": "scaled", "blank": True}
    ),
    "grouped_by_feature, quantile": Door(DATA.grouped_by_feature, lambda folder: {"feature": 1, "quantile": 0.3}),
    "subset": Door(DATA.subset, lambda folder: {"queries": [0, 1]}),
    "query": Door(DATA.query, lambda folder: {"i": 0}),
    "relevance": Door(DATA.relevance, lambda folder: {"i": 0}),
    "column": Door(DATA.column, lambda folder: {"feature": 1, "on": "raw"}),
    "GroupRule": Door(
        GroupRule, lambda folder: {"feature": 1, "thresholds": (0.1,), "quantiles": (), "on": "raw", "blank": True}
    ),
    "GroupRule.parse": Door(GroupRule.parse, lambda folder: {"text": "1:0.5"}),
    "dependent_clicks": Door(
        dependent_clicks, lambda folder: {"name": "perfect", "n_grades": 3, "stop_after": "click", "seed": 0}
    ),
    "load_user": Door(
        load_user, lambda folder: {"path_or_name": "perfect", "n_grades": 3, "stop_after": "click", "seed": 0}
    ),
    "preset_grades": Door(preset_grades, lambda folder: {"max_grade": 2}),
    "DependentClickModel": Door(
        DependentClickModel, lambda folder: {"click": [0.1, 0.2], "stop": [0.1, 0.2], "stop_after": "any", "seed": 1}
    ),
    "PositionBased": Door(PositionBased, lambda folder: {"examination": [1, 0.5], "attraction": [0.1, 0.2], "seed": 1}),
    "Cascade": Door(Cascade, lambda folder: {"attraction": [0.1, 0.2], "seed": 1}),
    "browse": Door(
        dependent_clicks("perfect").browse,
        lambda folder: {"ranking": fair().rank(DATA.query(0)), "relevance": DATA.relevance(0)},
    ),
    "visit_many": Door(dependent_clicks("perfect").visit_many, lambda folder: {"grades": [[0, 1]]}),
    "randomised_clicks": Door(
        randomised_clicks,
        lambda folder: {
            "dataset": DATA,
            "user": dependent_clicks("perfect"),
            "length": 3,
            "n_sessions": 10,
            "seed": 0,
            "on_progress": None,
        },
    ),
    "swapped_clicks": Door(
        swapped_clicks,
        lambda folder: {
            "dataset": DATA,
            "user": dependent_clicks("perfect"),
            "length": 3,
            "n_sessions": 10,
            "scores": None,
            "seed": 0,
        },
    ),
    "exposure_curve": Door(exposure_curve, lambda folder: {"spec": "reciprocal", "length": 3}),
    "estimate_exposure": Door(estimate_exposure, lambda folder: {"clicks": [[1, 0], [1, 1]], "partner": [2, 2]}),
    "reachable_gap": Door(reachable_gap, lambda folder: {"exposure": [1, 0.5], "shares": [1, 1]}),
    "FairExp": Door(
        FairExp,
        lambda folder: {
            "host": PairRank(3),
            "tolerance": 1.0,
            "beta": 1.0,
            "shares": None,
            "constraints": None,
            "exposure": "reciprocal",
            "fairness_budget": 4.0,
            "ties": "draw",
            "scope": "full",
            "effort": 1000,
            "seed": 0,
        },
    ),
    "FairExp, shares": Door(FairExp, lambda folder: {"host": PairRank(3), "tolerance": 1.0, "shares": [1, 2, 3]}),
    "FairExp, constraints": Door(FairExp, lambda folder: {"host": PairRank(3), "constraints": [Constraint(1.0)]}),
    "Constraint": Door(
        Constraint,
        lambda folder: {
            "tolerance": 1.0,
            "by": "groups",
            "beta": 1.0,
            "n_groups": 2,
            "half_life": None,
            "per": None,
            "max_ledgers": 10,
            "name": "a",
        },
    ),
    "Constraint, an intersection": Door(
        Constraint, lambda folder: {"tolerance": 1.0, "by": ("groups", "x"), "shares": [[1, 2], [1, 2]], "per": "query"}
    ),
    "PairRank": Door(
        PairRank,
        lambda folder: {
            "n_features": 3,
            **{
                name: parameter.default for name, parameter in parameters_of("pairrank").items() if name != "n_features"
            },
        },
    ),
    "Query": Door(
        Query,
        lambda folder: {
            "features": np.eye(3),
            "groups": [0, 1, 0],
            "document_ids": [1, 2, 3],
            "labels": {"x": [0, 1, 0]},
            "weight": 2.0,
            "pinned": {0: 1},
        },
    ),
    "rank": Door(ranked, lambda folder: {"query": DATA.query(0), "length": 3, "exposure": np.ones(3)}),
    "update": Door(updated, lambda folder: {"clicks": [False] * 3, "grades": None, "measured": None}),
    "score": Door(fair().score, lambda folder: {"features": np.ones((2, DATA.n_features))}),
    "best_template": Door(
        best_template,
        lambda folder: {
            "order": [0, 1, 2, 3],
            "groups": [0, 1, 0, 1],
            "certain_order": SQUARE,
            "exposure": [1, 0.5],
            "spent": [0, 0],
            "shares": [1, 1],
            "tolerance": 0.5,
            "scope": "full",
            "ties": "draw",
            "effort": 100,
        },
    ),
    "Ledger": Door(
        Ledger, lambda folder: {"shares": [1, 1], "exposure": [0.0, 0.0], "window": None, "half_life": None}
    ),
    "construct": Door(
        construct,
        lambda folder: {
            "name": "fairexp-pairrank",
            "parameters": {"alpha": 0.2},
            "known": {"n_features": 3, "tolerance": 1.0},
        },
    ),
    "ranker_class": Door(ranker_class, lambda folder: {"name": "pairrank"}),
    "classes_of": Door(classes_of, lambda folder: {"name": "pairrank"}),
    "parameters_of": Door(parameters_of, lambda folder: {"name": "pairrank"}),
}


@pytest.mark.filterwarnings("ignore::fairexp.errors.ToleranceWarning", "ignore::fairexp.errors.RunWarning")
@pytest.mark.parametrize("name", DOORS)
def test_wrong_arguments_are_errors_of_ours(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    door = DOORS[name]
    door.call(**door.arguments(tmp_path))
    others = []
    for argument in door.arguments(tmp_path):
        for wrong in WRONG:
            try:
                door.call(**{**door.arguments(tmp_path), argument: wrong})
            except FairexpError:
                continue
            except Exception as error:
                others.append(f"{argument}={wrong!r}: {type(error).__name__}: {error}")
    assert others == []


def test_a_mapping_that_lacks_a_key_is_named() -> None:
    with pytest.raises(FairexpError, match="n_features: expected a value, which this ranker needs, got nothing"):
        construct("pairrank", {}, known={})
    with pytest.raises(FairexpError, match="parameter of pairrank: expected one of"):
        construct("pairrank", {"alhpa": 1.0}, known={"n_features": 3})
