"""Metrics for Prometheus: counters of this process, and where every policy stands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from fairexp.service.views.fairness import standing

if TYPE_CHECKING:
    from fairexp.service.engine.engine import Engine, Learned
    from fairexp.service.http.connections import Connections
    from fairexp.service.limit import Limit
    from fairexp.service.requests.budget import Budget
    from fairexp.service.requests.reader import Reader

RECENT = 512
BUCKETS = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Counters of this process, and the state of every policy as it is when asked. No ids as labels."""

    def __init__(
        self, engine: Engine, feedback: Limit, *, budget: Budget, reader: Reader, connections: Connections
    ) -> None:
        self.registry = CollectorRegistry()
        self._engine = engine
        self._feedback = feedback
        self._budget, self._reader, self._connections = budget, reader, connections
        self.rank_seconds = Histogram(
            "fairexp_rank_seconds",
            "Time from a rank request's arrival to its durable answer.",
            ["policy"],
            registry=self.registry,
            buckets=BUCKETS,
        )
        self.feedback_events = Counter(
            "fairexp_feedback_events_total",
            "Feedback events by outcome.",
            ["policy", "outcome"],
            registry=self.registry,
        )
        self.requests = Counter(
            "fairexp_requests_total", "Requests by route and status.", ["route", "status"], registry=self.registry
        )
        self.above_limit = Counter(
            "fairexp_above_limit_total",
            "Requests rejected for a value above a limit of the policy.",
            ["policy", "limit"],
            registry=self.registry,
        )
        self._recent: dict[str, deque[float]] = {}
        self.registry.register(self)

    def ranked(self, policy: str, seconds: float) -> None:
        """Take note of how long a ranking took."""
        self.rank_seconds.labels(policy).observe(seconds)
        self._recent.setdefault(policy, deque(maxlen=RECENT)).append(seconds)

    def learned(self, policy: str, learned: Learned) -> None:
        """Take note of what was made of feedback."""
        self.feedback_events.labels(policy, learned.status).inc(learned.accepted)
        self.feedback_events.labels(policy, "duplicate").inc(learned.duplicates)

    def ignored(self, policy: str, reason: str) -> None:
        """Take note of an event that was taken and changed nothing."""
        self.feedback_events.labels(policy, reason).inc()

    def recent_seconds(self, policy: str) -> list[float]:
        """How long the latest rankings took."""
        return list(self._recent.get(policy, ()))

    def latency(self, policy: str) -> dict[str, float] | None:
        """Median and 99th percentile of the latest rankings, in milliseconds."""
        recent = self.recent_seconds(policy)
        if not recent:
            return None
        median, late = np.percentile(recent, (50, 99))
        return {"median_ms": 1000 * float(median), "p99_ms": 1000 * float(late)}

    def collect(self) -> Iterator[Metric]:
        """Where every policy stands, what waits and what was refused, whenever Prometheus asks."""
        unfairness = GaugeMetricFamily(
            "fairexp_unfairness", "Signed exposure gap of a pair of groups.", labels=["policy", "constraint", "pair"]
        )
        by_constraint = ["policy", "constraint"]
        gap = GaugeMetricFamily("fairexp_largest_gap", "Largest exposure gap of all pairs.", labels=by_constraint)
        tolerance = GaugeMetricFamily("fairexp_tolerance", "Unfairness allowed.", labels=by_constraint)
        met = GaugeMetricFamily("fairexp_met_share", "Rankings that met the constraint.", labels=by_constraint)
        exposure = GaugeMetricFamily("fairexp_exposure", "Exposure by group.", labels=[*by_constraint, "group"])
        regret = CounterMetricFamily("fairexp_added_regret", "Certain orders reversed for fairness.", labels=["policy"])
        share = GaugeMetricFamily("fairexp_qualified_share", "Rankings that met the tolerance.", labels=["policy"])
        rounds = CounterMetricFamily("fairexp_rankings", "Rankings shown.", labels=["policy"])
        updates = CounterMetricFamily("fairexp_updates", "Updates of the model.", labels=["policy"])
        serving = GaugeMetricFamily("fairexp_policy_serving", "1, or 0 if its records are damaged.", labels=["policy"])
        engine = self._engine
        for live in engine.policies() if engine.ready else ():
            name = live.row.name
            serving.add_metric([name], float(live.problem is None))
            if live.problem is not None or live.stale:
                continue
            runtime, totals = live.runtime, live.runtime.totals
            rounds.add_metric([name], totals.rounds)
            updates.add_metric([name], totals.updates)
            regret.add_metric([name], totals.regret)
            for number in range(len(runtime.accounts)):
                told = standing(runtime, number)
                of = [name, told["constraint"]]
                gap.add_metric(of, told["largest_gap"])
                for pair in told["pairs"]:
                    unfairness.add_metric([*of, "/".join(pair["groups"])], pair["unfairness"])
                for group in told["groups"]:
                    exposure.add_metric([*of, group["group"]], group["exposure"])
                if runtime.is_fair:
                    tolerance.add_metric(of, told["tolerance"])
                    met.add_metric(of, totals.met[number] / max(totals.rounds, 1))
            if runtime.is_fair:
                share.add_metric([name], totals.qualified / max(totals.rounds, 1))
        yield from (serving, unfairness, gap, tolerance, met, exposure, regret, share, rounds, updates)
        failures = CounterMetricFamily("fairexp_store_failures", "Times that the store failed.", value=engine.failures)
        ready = GaugeMetricFamily("fairexp_ready", "Whether the service is ready.", value=float(engine.healthy))
        yield from (failures, ready, *self._load(), *self._edges())

    def _load(self) -> Iterator[Metric]:
        """What waits, what was refused, and what is held in memory."""
        waiting = GaugeMetricFamily("fairexp_rankings_waiting", "Rankings under way.", labels=["policy"])
        refused = CounterMetricFamily("fairexp_rankings_refused", "Rankings refused by overload.", labels=["policy"])
        held = GaugeMetricFamily("fairexp_cached_rankings", "Rankings at hand for feedback.", labels=["policy"])
        memory = GaugeMetricFamily("fairexp_cached_bytes", "Memory that these take, about.", labels=["policy"])
        for live in self._engine.policies():
            labels, rankings = [live.row.name], live.queue.rankings
            waiting.add_metric(labels, rankings.taken)
            refused.add_metric(labels, rankings.refused)
            held.add_metric(labels, len(live.opened))
            memory.add_metric(labels, live.opened.n_bytes)
        yield from (waiting, refused, held, memory)
        feedback = self._feedback
        yield GaugeMetricFamily("fairexp_feedback_waiting", "Requests with feedback under way.", value=feedback.taken)
        yield CounterMetricFamily("fairexp_feedback_refused", "Feedback refused by overload.", value=feedback.refused)

    def _edges(self) -> Iterator[Metric]:
        """Bodies and connections."""
        budget, reader = self._budget, self._reader
        yield GaugeMetricFamily("fairexp_body_bytes", "Bytes of bodies being read.", value=budget.used)
        refused = CounterMetricFamily("fairexp_bodies_refused", "Bodies refused by overload.", labels=["reason"])
        refused.add_metric(["memory"], budget.refused)
        refused.add_metric(["waiting"], reader.limit.refused)
        yield refused
        yield CounterMetricFamily("fairexp_reader_lost", "Times that the reader was replaced.", value=reader.lost)
        connections = self._connections
        yield GaugeMetricFamily("fairexp_connections", "Connections.", value=len(connections))
        ended = CounterMetricFamily(
            "fairexp_connections_ended", "Connections that the server refused or ended, by reason.", labels=["reason"]
        )
        for reason, count in connections.closed.copy().items():
            ended.add_metric([reason], count)
        yield ended

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self.registry)
