"""Metrics of the service for Prometheus: requests, queries, slots, and the state of what it depends on.

Labels name routes, sources and schemes: never a token, a user, a value or a text that a client has made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from watchfloor.query.many.selection import names_several

QueryKind = Literal["query", "watch", "stats"]
SEVERAL = "several"
"""The label ``source`` and ``scheme`` of a query of several sources, whose request is a text of the client's."""
SECONDS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServiceMetrics:
    """Counts what the service answers. Any thread may call any method."""

    def __init__(self, state: Collector) -> None:
        """``state`` collects what is looked up when the metrics are read."""
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(state)
        route = ("method", "route")
        self._requests = Counter(
            "watchfloor_requests", "Requests by the status of their answer", (*route, "status"), registry=registry
        )
        self._request_seconds = Histogram(
            "watchfloor_request_seconds", "Time from a request to the beginning of its answer", route,
            buckets=SECONDS_BUCKETS, registry=registry,
        )  # fmt: skip
        run = ("kind", "source", "scheme")
        self._first_row_seconds = Histogram(
            "watchfloor_query_first_row_seconds", "Time from a query to its first row, planning included", run,
            buckets=SECONDS_BUCKETS, registry=registry,
        )  # fmt: skip
        self._query_seconds = Histogram(
            "watchfloor_query_seconds", "Time from a query to its end", run, buckets=SECONDS_BUCKETS, registry=registry
        )
        self._queries = Counter(
            "watchfloor_queries", "Queries, watches and aggregations that have ended", ("kind", "status"),
            registry=registry,
        )  # fmt: skip
        self._rows = Counter("watchfloor_query_rows", "Rows that they found", ("kind", "source"), registry=registry)
        self._bytes = Counter("watchfloor_query_sent_bytes", "Bytes of their answers", ("kind",), registry=registry)
        self._scans = Counter(
            "watchfloor_query_scans", "Query batches that they ran, each a scan of events", ("source",),
            registry=registry,
        )  # fmt: skip

    def count_request(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """Counts an answer that begins. ``route`` is the path as it is declared; None if there is no such path."""
        labels = (method, route) if route is not None else ("", "unknown")
        self._requests.labels(*labels, str(status)).inc()
        self._request_seconds.labels(*labels).observe(seconds)

    def count_query(self, kind: QueryKind, source: str, summary: Mapping[str, Any], sent_bytes: int) -> None:
        """Counts a query that has ended. ``source`` is the one of its request, which was found to be right."""
        source = SEVERAL if names_several(source) else source
        self._queries.labels(kind, summary["status"]).inc()
        self._rows.labels(kind, source).inc(summary.get("rows", 0))
        self._bytes.labels(kind).inc(sent_bytes)
        self._scans.labels(source).inc(summary.get("batches", 0))
        if kind == "watch" or "seconds" not in summary:
            return
        labels = (kind, source, _name_scheme(source, summary))
        self._query_seconds.labels(*labels).observe(summary["seconds"])
        if summary.get("first_seconds") is not None:
            self._first_row_seconds.labels(*labels).observe(summary["first_seconds"])

    def to_text(self) -> bytes:
        """Returns all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class StateCollector(Collector):
    """Collects the state of the service at the time at which the metrics are read."""

    def __init__(
        self,
        count_slots: Callable[[], Mapping[tuple[str, str], int]],
        count_sources: Callable[[], int],
        find_damage: Callable[[], str | None],
        count_restarts: Callable[[], Mapping[str, int]],
    ) -> None:
        self._count_slots, self._count_sources = count_slots, count_sources
        self._find_damage, self._count_restarts = find_damage, count_restarts

    def collect(self) -> Iterable[Metric]:
        slots = GaugeMetricFamily(
            "watchfloor_slots", "Requests that run, wait or are paused", labels=("queue", "state")
        )
        for labels, count in self._count_slots().items():
            slots.add_metric(labels, count)
        yield slots
        yield GaugeMetricFamily("watchfloor_store_up", "1 if the store answers", value=float(self._is_store_up()))
        damaged = float(self._find_damage() is not None)
        yield GaugeMetricFamily("watchfloor_tokens_damaged", "1 if the file of tokens cannot be read", value=damaged)
        restarts = CounterMetricFamily(
            "watchfloor_server_restarts", "Restarts of the local stack's servers by its supervisor", labels=("server",)
        )
        for server, count in self._count_restarts().items():
            restarts.add_metric((server,), count)
        yield restarts

    def _is_store_up(self) -> bool:
        try:
            self._count_sources()
        except Exception:  # told by the requests that meet it
            return False
        return True


def _name_scheme(source: str, summary: Mapping[str, Any]) -> str:
    """Returns the scheme of a plan; of an aggregation without one, where it was computed."""
    plan = summary.get("plan")
    if source == SEVERAL:
        return SEVERAL
    return str(plan["scheme"] if plan else summary.get("from") or "none")
