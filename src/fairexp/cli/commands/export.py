"""`fairexp export`: runs in the forms that other tools read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fairexp.cli.entry import error_console
from fairexp.errors import ArgumentError

app = typer.Typer(
    no_args_is_help=True, help="Turn runs into files that other tools read: TREC runs, logs for off-policy work."
)

Run = Annotated[Path, typer.Argument(help="The folder of a run of `fairexp simulate --out`.")]


class Part(StrEnum):
    """Which lists of a run."""

    shown = "shown"
    heldout = "heldout"


@app.command()
def trec(
    run: Run,
    out: Annotated[Path, typer.Option(help="Write run.txt and qrels.txt into this folder.")],
    part: Annotated[
        Part,
        typer.Option(
            help="shown: what users were shown, each round a topic (needs --record shown); heldout: how what was "
            "learned ranks held-out queries (needs --record ranker)."
        ),
    ] = Part.shown,
    tag: Annotated[str | None, typer.Option(help="What the run is called; default: its ranker.")] = None,
) -> None:
    """A TREC run and its judgements, for trec_eval, ir_measures or ranx.

    Our NDCG has gains of 2^grade - 1: `nDCG(gains={0:0,1:1,2:3,3:7,4:15})@10` in ir_measures, `ndcg_burges@10` in ranx.
    """
    from fairexp.lab.data import contents
    from fairexp.lab.exports.runs import KeptRun
    from fairexp.lab.exports.trec import heldout_topics, shown_topics, write_trec

    kept = KeptRun(run)
    name = tag or kept.settings.ranker
    if not name or any(letter.isspace() for letter in name):
        raise ArgumentError("--tag", repr(name), "a name without spaces")
    topics = shown_topics(kept) if part is Part.shown else heldout_topics(kept)
    n_topics = write_trec(topics, out, tag=name)
    error_console().print(contents(kept.train), markup=False, soft_wrap=True)
    error_console().print(f"{n_topics:,} topics in {out}", markup=False, soft_wrap=True)


@app.command()
def bandit(
    run: Run,
    out: Annotated[
        Path,
        typer.Option(
            help="Write the rounds to this .parquet or .jsonl file, and candidates to NAME.candidates beside it."
        ),
    ],
) -> None:
    """A log for off-policy work: context, what was shown, its propensity, and clicks (see `fairexp evaluate`).

    The run must have been recorded with `--record shown,clicked,propensity`.
    """
    from fairexp.lab.data import contents
    from fairexp.lab.exports.bandit import log_of_run
    from fairexp.lab.exports.runs import KeptRun
    from fairexp.lab.offpolicy.files import candidates_file, write_bandit_log

    kept = KeptRun(run)
    log = log_of_run(kept)
    write_bandit_log(log, out)
    error_console().print(contents(kept.train), markup=False, soft_wrap=True)
    told = f"{log.n_rounds:,} rounds in {out}, {len(log.features):,} candidates in {candidates_file(out)}"
    error_console().print(told, markup=False, soft_wrap=True)
