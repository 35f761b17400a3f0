"""Counts of a worker process. A registry of Prometheus is one per process, and so are these."""

from __future__ import annotations

import re
import time
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from watchfloor.ingest.files.lines import RejectedLine
from watchfloor.schema.definition import builtin_definitions
from watchfloor.store.bridge.waiting import read_waited_seconds

WORKER_REGISTRY = CollectorRegistry()
EVENTS = Counter(
    "watchfloor_ingest_events", "Events read; those of an item that is read again count again", registry=WORKER_REGISTRY
)
READ_BYTES = Counter("watchfloor_ingest_read_bytes", "Bytes of logs read, unpacked", registry=WORKER_REGISTRY)
_QUARANTINED = Counter(
    "watchfloor_ingest_quarantined_lines", "Lines that became no event", ("reason",), registry=WORKER_REGISTRY
)
_MISFITS = Counter(
    "watchfloor_ingest_misfit_values",
    "Values that are not of their field's type and are kept in the field extra",
    ("source",),
    registry=WORKER_REGISTRY,
)
_WRITER_SECONDS = Counter(
    "watchfloor_ingest_writer_seconds",
    "Time in which the writer took entries (write), waited because its memory was full (blocked), and in which all "
    "became durable (flush)",
    ("step",),
    registry=WORKER_REGISTRY,
)
ITEMS = Counter("watchfloor_ingest_items", "Work items that have ended", ("state",), registry=WORKER_REGISTRY)
for state in ("done", "failed"):
    ITEMS.labels(state)  # from the beginning: of a counter that begins at 1 Prometheus sees no increase
ITEM_SECONDS = Histogram(
    "watchfloor_ingest_item_seconds",
    "Time from the beginning of an item until it was durable",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
    registry=WORKER_REGISTRY,
)
PAUSED = Gauge("watchfloor_ingest_paused", "1 while the worker waits for room on the disk", registry=WORKER_REGISTRY)
_KINDS = (
    ("missing_field", re.compile(r"field [^:]*: missing;")),
    ("unknown_field", re.compile(r"field [^:]*: [^ ]+ has no such field")),
    ("unfit_value", re.compile(r"field ")),
    ("wrong_columns", re.compile(r"the line has \d+ columns")),
    ("too_long", re.compile(r"the line is \d+ bytes long")),
    ("wrong_form", re.compile(r"not |neither ")),
)
"""Kinds of reasons by their texts. The texts themselves quote values, and are for the quarantine alone."""
ProcessCollector(registry=WORKER_REGISTRY)


def count_quarantined(lines: Iterable[RejectedLine]) -> None:
    """Counts lines by the kind of their reason."""
    for kind, count in Tally(name_reason(line.reason) for line in lines).items():
        _QUARANTINED.labels(kind).inc(count)


def count_misfits(counts: Mapping[tuple[str, str], int]) -> None:
    """Counts values that do not fit by the source. A source that does not ship may be hidden, and is ``other``."""
    shipped = builtin_definitions()
    for (source, _), count in counts.items():
        _MISFITS.labels(source if source in shipped else "other").inc(count)


def name_reason(reason: str) -> str:
    """Returns the kind of a reason for which a line became no event."""
    return next((kind for kind, text in _KINDS if text.match(reason)), "other")


@contextmanager
def count_write_seconds() -> Iterator[None]:
    """Counts the time in which the ``with`` block writes, and apart from it that for which it waits in Java."""
    began, waited = time.monotonic(), read_waited_seconds()
    try:
        yield
    finally:
        blocked = read_waited_seconds() - waited
        _WRITER_SECONDS.labels("blocked").inc(blocked)
        _WRITER_SECONDS.labels("write").inc(max(0.0, time.monotonic() - began - blocked))


@contextmanager
def count_flush_seconds() -> Iterator[None]:
    """Counts the time in which the ``with`` block makes entries durable."""
    began = time.monotonic()
    try:
        yield
    finally:
        _WRITER_SECONDS.labels("flush").inc(time.monotonic() - began)
