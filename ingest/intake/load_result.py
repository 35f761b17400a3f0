"""The progress of a load, and the outcome for its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watchfloor.ingest.records.ledger import LedgerRow
from watchfloor.schema.files.paths import show_path

from .intake import Offer


@dataclass(frozen=True)
class LoadProgress:
    """The progress of a load.

    ``lag`` counts its items that are not over; ``problem`` describes a failure that it waits out, or is empty.
    """

    phase: str
    bytes: int
    total_bytes: int
    events: int
    quarantined: int
    lag: int
    seconds: float
    problem: str = ""


@dataclass(frozen=True)
class FileResult:
    """The outcome for one file; lines = events + quarantined.

    ``skipped``: all of it was loaded before. ``failed`` holds the reasons of items that failed.
    """

    path: str
    items: int
    bytes: int
    events: int
    quarantined: int
    entries: int
    skipped: bool
    failed: tuple[str, ...]

    @property
    def lines(self) -> int:
        return self.events + self.quarantined

    @property
    def has_no_lines(self) -> bool:
        """True if the file was read and is empty, or has only blank lines and header lines."""
        return not self.lines and not self.skipped and not self.failed


@dataclass(frozen=True)
class LoadResult:
    """The outcome of a load, and its totals."""

    files: tuple[FileResult, ...]
    seconds: float

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.files)

    @property
    def events(self) -> int:
        return sum(f.events for f in self.files)

    @property
    def quarantined(self) -> int:
        return sum(f.quarantined for f in self.files)

    @property
    def lines(self) -> int:
        return self.events + self.quarantined

    @property
    def entries(self) -> int:
        return sum(f.entries for f in self.files)

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(reason for f in self.files for reason in f.failed)

    @property
    def clean(self) -> bool:
        """True if every line became an event."""
        return not self.quarantined and not self.failed


def file_result(offer: Offer, rows: Mapping[bytes, LedgerRow]) -> FileResult:
    """Returns the outcome for an offered file. ``rows`` are the ledger's rows by item identity."""
    own = [rows[item.item_id] for item in offer.items if item.item_id in rows]
    return FileResult(
        offer.path,
        len(offer.items),
        offer.bytes,
        sum(row.events for row in own),
        sum(row.quarantined for row in own),
        sum(row.entries for row in own),
        not offer.queued and (bool(offer.items) or offer.grown),
        tuple(
            row.reason if show_path(row.path) in row.reason else f"{show_path(row.path)}: {row.reason}"
            for row in own
            if row.state == "failed"
        ),
    )
