"""Experiments as data: a YAML file becomes runs, runs become records, and records become a report with verdicts.

In order: `plan` (from YAML to runs), `run` (from runs to records, kept in a `store`), `paper` (from records to
verdicts), `report` (needs the extra `fairexp[charts]`). See docs/experiments.md.
"""

from fairexp.lab.experiments.conduct import Progress, conduct
from fairexp.lab.experiments.paper.results import Results, read_results
from fairexp.lab.experiments.plan.spec import Experiment
from fairexp.lab.experiments.plan.yaml_file import read_experiment
from fairexp.lab.experiments.run.executors import Executor, open_executor
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.experiments.store import Store, open_records_store

__all__ = [
    "Executor",
    "Experiment",
    "Progress",
    "Records",
    "Results",
    "Store",
    "conduct",
    "open_executor",
    "open_records_store",
    "read_experiment",
    "read_results",
]
