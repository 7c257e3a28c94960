"""Which data an experiment really uses: the collection where it was given, a synthetic world where not."""

from __future__ import annotations

from fairexp.errors import ArgumentError
from fairexp.lab.data import COLLECTIONS, WORLDS
from fairexp.lab.experiments.plan.spec import DataSpec
from fairexp.lab.simulation.settings import DataSettings


def is_synthetic(spec: DataSpec) -> bool:
    """Whether a world is served from, by choice or as a stand-in."""
    return spec.source in WORLDS or (spec.source in COLLECTIONS and spec.folder is None)


def data_settings(label: str, spec: DataSpec, fold: int) -> DataSettings:
    """The data of one fold. Each fold of a world is a world of its own, with another seed.

    >>> settings = data_settings("x", DataSpec(source="mslr-web10k", stand_in="mslr-inlink"), 2)
    >>> settings == DataSettings(source="mslr-inlink", seed=1)
    True
    """
    if is_synthetic(spec):
        world = spec.source if spec.source in WORLDS else spec.stand_in
        if world is None or world not in WORLDS:
            expected = f"the folder of {spec.source} (or stand_in: one of {', '.join(WORLDS)})"
            raise ArgumentError(f"data.{label}.folder", "nothing", expected, f"Pass --data {spec.source}=DIR.")
        own_group = spec.group if spec.source in WORLDS else None
        return DataSettings(world, group=own_group, n_queries=spec.n_queries, seed=fold - 1)
    if spec.folder is None:
        known = ", ".join([*WORLDS, *COLLECTIONS])
        raise ArgumentError(f"data.{label}.source", repr(spec.source), f"one of {known}, or a name with a folder")
    if spec.group is None:
        expected = "a rule such as pagerank or 130:0.12"
        raise ArgumentError(f"data.{label}.group", "nothing", expected, "Say how documents are grouped (--group).")
    return DataSettings(spec.source, spec.folder, fold, group=spec.group, n_queries=spec.n_queries)


def display_title(label: str, spec: DataSpec) -> str:
    """The name of the data for tables and charts, which always says when a world stands in.

    >>> display_title("x", DataSpec(source="mslr-web10k", title="MSLR by PageRank", stand_in="mslr-pagerank"))
    'MSLR by PageRank (synthetic stand-in)'
    """
    title = spec.title or label
    if not is_synthetic(spec):
        return title
    return f"{title} (synthetic{' stand-in' if spec.source in COLLECTIONS else ' world'})"
