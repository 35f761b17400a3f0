"""The progress of a load, and the outcome for its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watchfloor.schema.files.paths import show_path

if TYPE_CHECKING:
    from watchfloor.ingest.records.ledger import LedgerRow

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

    ``is_known``: all of it was loaded before, or is in another file of the load. ``failed`` holds the reasons of items
    that failed. ``misfits`` counts, by source and field, the values that are not of their field's type.
    ``left_out`` says why members of an archive were not loaded, a line each.
    """

    path: str
    items: int
    bytes: int
    events: int
    quarantined: int
    entries: int
    is_known: bool
    failed: tuple[str, ...]
    misfits: Mapping[tuple[str, str], int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def lines(self) -> int:
        return self.events + self.quarantined

    @property
    def has_no_lines(self) -> bool:
        """True if the file was read and is empty, or has only blank lines and header lines."""
        return not self.lines and not self.is_known and not self.failed


@dataclass(frozen=True)
class LoadResult:
    """The outcome of a load, and its totals, in which files that are known do not count.

    ``unread`` says of each file that was left out, because its kind is not known, why.
    """

    files: tuple[FileResult, ...]
    seconds: float
    unread: tuple[str, ...] = ()

    @property
    def new_files(self) -> tuple[FileResult, ...]:
        return tuple(f for f in self.files if not f.is_known)

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.new_files)

    @property
    def events(self) -> int:
        return sum(f.events for f in self.new_files)

    @property
    def quarantined(self) -> int:
        return sum(f.quarantined for f in self.new_files)

    @property
    def lines(self) -> int:
        return self.events + self.quarantined

    @property
    def entries(self) -> int:
        return sum(f.entries for f in self.new_files)

    @property
    def misfits(self) -> Mapping[tuple[str, str], int]:
        """The number of values, by source and field, that are kept in ``extra`` as they are not of the field's type."""
        return sum((Counter(f.misfits) for f in self.new_files), Counter())

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(reason for f in self.files for reason in f.failed)

    @property
    def clean(self) -> bool:
        """True if every line of every file is an event, be it since an earlier load."""
        return not self.unread and not self.failed and not any(f.quarantined or f.left_out for f in self.files)


def file_results(offers: Collection[Offer], rows: Mapping[bytes, LedgerRow], since: float) -> tuple[FileResult, ...]:
    """Returns the outcomes for the files of a load. ``rows`` are the ledger's rows by item identity.

    What has ended since ``since`` (epoch seconds) was not known before.
    """
    results, seen = [], set[bytes]()
    for offer in offers:
        items = {item.item_id for item in offer.items}
        ended_before = all(row.at < since for item in items if (row := rows.get(item)))
        results.append(_file_result(offer, rows, items <= seen, ended_before))
        seen |= items
    return tuple(results)


def _file_result(offer: Offer, rows: Mapping[bytes, LedgerRow], is_copy: bool, ended_before: bool) -> FileResult:
    """Returns the outcome for an offered file. ``is_copy``: other files of the load have all that it has.

    ``ended_before``: its items had ended before the load began.
    """
    own = [rows[item.item_id] for item in offer.items if item.item_id in rows]
    misfits: Counter[tuple[str, str]] = Counter()
    for row in own:
        for source, fields in row.misfits.items():
            misfits.update({(source, name): count for name, count in fields.items()})
    return FileResult(
        offer.path,
        len(offer.items),
        offer.bytes,
        sum(row.events for row in own),
        sum(row.quarantined for row in own),
        sum(row.entries for row in own),
        not offer.queued and (bool(offer.items) or offer.grown) and (is_copy or (ended_before and not offer.has_open)),
        tuple(
            row.reason if show_path(row.path) in row.reason else f"{show_path(row.path)}: {row.reason}"
            for row in own
            if row.state == "failed"
        ),
        misfits,
        offer.left_out,
    )
