"""The statistics collector: 27 numbers of the cluster and the table every so often, in a file and for Prometheus.

The columns, their names and their order are those of accumulo-testing's collector (``ContinuousStatsCollector``, of
which ``report.pl`` makes plots), so that both can be read by the same tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from prometheus_client import CollectorRegistry, Gauge

from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.metrics_port import serve_metrics
from watchfloor.store.runtime.private_files import open_private
from watchfloor.store.workloads.client_process import Record

from .clients import ClientKind
from .ingest import FOR_EVER
from .table import TableRows

COLUMNS = {
    "time": "TIME",
    "tablet_servers": "TABLET_SERVERS",
    "total_entries": "TOTAL_ENTRIES",
    "total_ingest": "TOTAL_INGEST",
    "total_query": "TOTAL_QUERY",
    "table_entries": "TABLE_RECS",
    "table_entries_in_memory": "TABLE_RECS_IN_MEM",
    "table_ingest": "TABLE_INGEST",
    "table_query": "TABLE_QUERY",
    "table_tablets": "TABLE_TABLETS",
    "table_tablets_online": "TABLE_TABLETS_ONLINE",
    "accumulo_bytes": "ACCUMULO_DU",
    "accumulo_folders": "ACCUMULO_DIRS",
    "accumulo_files": "ACCUMULO_FILES",
    "table_bytes": "TABLE_DU",
    "table_folders": "TABLE_DIRS",
    "table_files": "TABLE_FILES",
    "map_task": "MAP_TASK",
    "max_map_task": "MAX_MAP_TASK",
    "reduce_task": "REDUCE_TASK",
    "max_reduce_task": "MAX_REDUCE_TASK",
    "task_trackers": "TASK_TRACKERS",
    "black_listed": "BLACK_LISTED",
    "min_files_per_tablet": "MIN_FILES/TABLET",
    "max_files_per_tablet": "MAX_FILES/TABLET",
    "mean_files_per_tablet": "AVG_FILES/TABLET",
    "deviation_files_per_tablet": "STDDEV_FILES/TABLET",
}
"""The names of the original collector by those of our records, in its order."""


def make_collector(rows: TableRows, interval: float, samples: int | None) -> ClientKind:
    """Returns the client that collects every ``interval`` seconds, ``samples`` times or until it is stopped."""
    if interval <= 0 or (samples is not None and samples < 1):
        raise UserError("--interval is above 0, and --samples 1 or more")
    options = {**rows.to_options(), "interval": round(1000 * interval), "samples": samples or FOR_EVER}
    return ClientKind("Stats", options, "128m")


class StatsSink:
    """The places to which records of the collector go: a file, and gauges."""

    def __init__(self, file: IO[Any] | None, registry: CollectorRegistry) -> None:
        self._file = file
        self._gauges = {
            name: Gauge(f"watchfloor_continuous_{name}", f"The original collector's {title}", registry=registry)
            for name, title in COLUMNS.items()
            if name != "time"
        }
        if file:
            file.write(" ".join(COLUMNS.values()) + "\n")

    def put(self, record: Record) -> None:
        """Writes a line of the file, and sets the gauges."""
        if self._file:
            self._file.write(" ".join(str(record[name]) for name in COLUMNS) + "\n")
            self._file.flush()
        for name, gauge in self._gauges.items():
            gauge.set(record[name])


@contextmanager
def open_stats_sink(settings: Settings, path: Path | None) -> Iterator[StatsSink]:
    """Opens the file, and serves the numbers as metrics if the setting ``metrics`` is on."""
    registry = CollectorRegistry()
    with serve_metrics(settings, "continuous", registry):
        if path is None:
            yield StatsSink(None, registry)
        else:
            with open_private(path, "w") as file:
                yield StatsSink(file, registry)
