"""Counts of a master, and the lag of the queue, which is looked up when the metrics are read."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from watchfloor.ingest.queue.work_queue import queue_lag
from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.settings.settings import Settings


class MasterMetrics:
    """The metrics of one master."""

    def __init__(self, settings: Settings) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.registry.register(_LagCollector(settings))
        self.files = Counter(
            "watchfloor_master_files", "Files that were queued, known before or refused", ("outcome",),
            registry=self.registry,
        )  # fmt: skip
        self.items = Counter("watchfloor_master_queued_items", "Work items queued", registry=self.registry)
        self.bytes = Counter("watchfloor_master_queued_bytes", "Bytes of logs queued", registry=self.registry)


class _LagCollector(Collector):
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def describe(self) -> Iterable[Metric]:
        """Returns nothing, which keeps the registry from asking the queue before the first reading."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Yields the lag; nothing while the queue does not answer."""
        try:
            lag = queue_lag(self._settings)
        except WatchfloorError:
            return
        yield GaugeMetricFamily("watchfloor_ingest_lag_items", "Work items that wait in the queue", value=lag)
