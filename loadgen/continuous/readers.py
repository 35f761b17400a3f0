"""Walkers, batch walkers and scanners, and what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from watchfloor.schema.errors import UserError
from watchfloor.store.workloads.client_process import Record

from .clients import ClientKind
from .ingest import FOR_EVER
from .table import TableRows

CLASSES = {"walk": "Walk", "batchwalk": "BatchWalk", "scan": "RangeScan"}
"""The Java class of each kind of reader."""
SLEEPS = {"walk": 10, "batchwalk": 180_000, "scan": 10_000}
"""Milliseconds between two requests, as in the studies."""


@dataclass(frozen=True)
class ReaderOptions:
    """The requests of a reader, and their pace; the names are those of the Java classes.

    ``lookups`` are of each client. ``sleep`` and ``report`` are in ms; a report of 0 tells only the totals. ``batch``
    and ``threads`` are of a batch walker; ``wanted`` is the number of entries at which a scan aims.
    """

    lookups: int = FOR_EVER
    sleep: int = 10
    authorizations: tuple[str, ...] = ("",)
    report: int = 30_000
    batch: int = 10_000
    threads: int = 16
    wanted: int = 5_000

    def __post_init__(self) -> None:
        for name in ("lookups", "batch", "threads", "wanted"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name} is {getattr(self, name)}; it is 1 or more")
        if self.sleep < 0 or self.report < 0:
            raise UserError("--sleep and --report are milliseconds, 0 or more")

    def make_client(self, kind: str, rows: TableRows) -> ClientKind:
        """Returns the client of a kind of ``CLASSES``."""
        options: dict[str, Any] = {
            **asdict(self),
            "authorizations": list(self.authorizations),
            **rows.to_options(),
        }
        return ClientKind(CLASSES[kind], options)


@dataclass(frozen=True)
class ReadResult:
    """All that the readers of a run have found together. Times are in seconds."""

    requests: int
    entries: int
    seconds: float
    least: float
    mean: float
    most: float
    missing: int
    corrupt: int

    @property
    def request_rate(self) -> float:
        return self.requests / self.seconds if self.requests else 0.0

    @property
    def entry_rate(self) -> float:
        return self.entries / self.seconds if self.requests else 0.0


_STARTS = frozenset({"find start", "find rows"})
"""The requests with which walkers find rows to begin from; they are no look-ups."""


def sum_reads(records: Sequence[Sequence[Record]]) -> ReadResult:
    """Sums the totals of the clients of one run."""
    flat = [record for one in records for record in one]
    totals = [record for record in flat if record.get("total") not in (None, *_STARTS) and record["count"]]
    requests = sum(record["count"] for record in totals)
    return ReadResult(
        requests=requests,
        entries=sum(record["entries"] for record in totals),
        seconds=max((record["seconds"] for record in totals), default=0.0),
        least=min((record["min"] for record in totals), default=0) / 1e6,
        mean=sum(record["mean"] * record["count"] for record in totals) / max(1, requests) / 1e6,
        most=max((record["max"] for record in totals), default=0) / 1e6,
        missing=sum(record.get("missing_rows", 0) for record in flat),
        corrupt=sum(record.get("corrupt_entries", 0) for record in flat),
    )
