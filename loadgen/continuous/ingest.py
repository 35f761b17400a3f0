"""Ingest of linked lists, and its rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from watchfloor.schema.errors import UserError
from watchfloor.store.workloads.client_process import Record

from .clients import ClientKind, find_span
from .table import COLUMNS, TableRows

FOR_EVER = (1 << 63) - 1


@dataclass(frozen=True)
class IngestOptions:
    """The entries that an ingest client writes, and its BatchWriter; the names are those of the Java class ``Ingest``.

    ``entries`` are of each client. ``interval`` entries are written between two flushes, and a list has ``depth`` of
    them. ``buffer`` (bytes), ``threads`` and ``latency`` (ms) are those of the BatchWriter. Values are filled with
    between ``least_filler`` and ``most_filler`` bytes, Zipf distributed; none if ``most_filler`` is 0.
    """

    entries: int = FOR_EVER
    interval: int = 1_000_000
    depth: int = 25
    families: int = COLUMNS
    qualifiers: int = COLUMNS
    checksums: bool = True
    visibilities: tuple[str, ...] = ()
    buffer: int = 100_000_000
    threads: int = 4
    latency: int = 120_000
    least_filler: int = 0
    most_filler: int = 0
    zipf_exponent: float = 1.5

    def __post_init__(self) -> None:
        for name in ("entries", "interval", "depth", "families", "qualifiers", "buffer", "threads", "latency"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name} is {getattr(self, name)}; it is 1 or more")
        if self.most_filler and not 0 <= self.least_filler < self.most_filler:
            raise UserError(f"values of {self.least_filler} to {self.most_filler} more bytes: give a range from 0 up")

    def make_client(self, rows: TableRows) -> ClientKind:
        """Returns the kind of client, whose heap holds a buffer and two rounds of lists."""
        heap = 384 + (3 * self.buffer + 64 * self.interval) // 1_000_000
        options: dict[str, Any] = {**asdict(self), "visibilities": list(self.visibilities), **rows.to_options()}
        return ClientKind("ingest.Ingest", options, f"{heap}m")

    def make_plain_client(self, rows: TableRows) -> ClientKind:
        """Returns the client of the plainest loop with the same buffers (``PlainIngest``), with which to compare."""
        made = self.make_client(rows)
        return ClientKind("ingest.PlainIngest", made.options, made.heap)


@dataclass(frozen=True)
class IngestResult:
    """All that the clients of a run have written together."""

    clients: int
    entries: int
    seconds: float
    flushes: int
    longest_flush: float
    """Seconds."""

    @property
    def rate(self) -> float:
        """Entries a second, from the first client's first entry to the last client's last flush."""
        return self.entries / self.seconds


def sum_ingest(records: Sequence[Sequence[Record]]) -> IngestResult:
    """Sums the records of the clients of one run."""
    flushes = [record for one in records for record in one if "duration" in record]
    return IngestResult(
        clients=len(records),
        entries=sum(record["entries"] for one in records for record in one if "entries" in record),
        seconds=find_span(records, "at", "flush"),
        flushes=len(flushes),
        longest_flush=max((record["duration"] / 1000 for record in flushes), default=0.0),
    )
