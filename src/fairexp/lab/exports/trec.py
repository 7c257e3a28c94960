"""TREC runs and judgements, as trec_eval, ir_measures and ranx read them.

Documents are called QUERY-NUMBER. Evaluators sort by the score of a line, some of them in single precision, so a score
is the number of documents less the rank: what is sorted is exactly what was ranked. Of documents with equal scores the
first in the data comes first here, where our own held-out NDCG is the mean over all their orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.lab.data import Dataset
from fairexp.lab.exports.runs import KeptRun

RUN, QRELS = "run.txt", "qrels.txt"


class Topic(NamedTuple):
    """A list to be judged: what it is called, its `query`'s id, the `order` (m,) shown, and all `grades` (n,)."""

    name: str
    query: str
    order: Ints
    grades: Ints


def shown_topics(run: KeptRun) -> Iterator[Topic]:
    """Each round is a topic, QUERY.rROUND: what users were shown, whose mean NDCG is that of the trace."""
    trace, train = run.trace("round", "query", "shown"), run.train
    rounds, queries, shown = (trace.column(name).to_pylist() for name in ("round", "query", "shown"))
    for number, query, order in zip(rounds, queries, shown, strict=True):
        name = train.query_ids[query]
        yield Topic(f"{name}.r{number}", name, np.array(order, dtype=np.int64), train.relevance(query))


def heldout_topics(run: KeptRun) -> Iterator[Topic]:
    """Each held-out query is a topic: what was learned, whose mean NDCG is held-out NDCG."""
    heldout, ranker = run.parts[1], run.ranker()
    if heldout is None:
        raise ArgumentError("run", f"{run.folder} without held-out queries", "a run with some, or --part shown")
    if not ranker.scores_unseen:
        raise ArgumentError("run", f"{run.settings.ranker}, which cannot score unseen documents", "--part shown")
    yield from scored_topics(heldout, ranker.score)


def scored_topics(data: Dataset, score: Callable[[Floats], Floats]) -> Iterator[Topic]:
    """Each query of `data` ranked by `score(features)`, the highest first."""
    for number, name in enumerate(data.query_ids):
        order = np.argsort(-score(data.query(number).features), kind="stable")
        yield Topic(name, name, order, data.relevance(number))


def write_trec(topics: Iterable[Topic], folder: Path, *, tag: str) -> int:
    """Write `run.txt` and `qrels.txt` of the topics into `folder`; returns how many there were."""
    folder.mkdir(parents=True, exist_ok=True)
    n_topics = 0
    with (folder / RUN).open("w", encoding="utf-8") as run, (folder / QRELS).open("w", encoding="utf-8") as qrels:
        for topic in topics:
            n_topics += 1
            size = len(topic.order)
            run.writelines(
                f"{topic.name} Q0 {topic.query}-{document} {rank} {size - rank + 1} {tag}\n"
                for rank, document in enumerate(topic.order.tolist(), start=1)
            )
            qrels.writelines(
                f"{topic.name} 0 {topic.query}-{document} {grade}\n"
                for document, grade in enumerate(topic.grades.tolist())
            )
    return n_topics
