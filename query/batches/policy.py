"""The contract between a sequence of query batches and the policy that decides how wide each batch is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from watchfloor.schema.text import format_number


@dataclass(frozen=True)
class Batch:
    """A query batch: the time range [since, until), in µs, that runs as one unit.

    ``start`` is the start of the query's range, ``number`` counts from 0, and ``target_rows`` is the number of rows
    aimed at (the paper's k_i). A sequence needs no other state to find the next batch. ``expected_rows`` (None if it is
    not known) and ``because``, the reason for the width, are for people.
    """

    since: int
    until: int
    start: int
    number: int
    target_rows: float
    expected_rows: float | None = field(default=None, compare=False)
    because: str = field(default="", compare=False)

    @property
    def width(self) -> int:
        """The width in µs."""
        return self.until - self.since


@dataclass(frozen=True)
class BatchWidth:
    """The width, in µs, that a policy chooses for a batch, and the reason as text for people."""

    micros: float
    because: str


@dataclass
class BatchRun:
    """A batch that runs or has run, the number of rows that it gave so far, and the seconds spent reading them."""

    batch: Batch
    rows: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class BatchRange:
    """The part of a query's time range that has not been run: [start, end) in µs.

    The next batch ends at ``end`` and aims at ``target_rows``. The query wants ``rows_left`` more rows; infinity stands
    for all of them.
    """

    start: int
    end: int
    target_rows: float
    rows_left: float


class WidthSettings(Protocol):
    """The settings that policies read; ``BatchSettings`` describes them."""

    @property
    def growth(self) -> float: ...

    @property
    def min_seconds(self) -> float: ...

    @property
    def max_seconds(self) -> float: ...

    @property
    def first_rows(self) -> float: ...

    @property
    def width(self) -> int: ...


class WidthPolicy(Protocol):
    """Chooses the widths of one query's batches. A policy keeps no state between batches."""

    def choose_first_width(self, left: BatchRange, suggested: int) -> BatchWidth:
        """Returns the width of the first batch; ``suggested`` (µs) should hold the first rows by the counts."""
        ...

    def choose_next_width(self, left: BatchRange, run: BatchRun) -> BatchWidth:
        """Returns the width of the batch after the one that has run."""
        ...


def describe_rows(rows: float) -> str:
    """Returns a rounded number of rows as text: ``1,000 rows``."""
    return format_number(round(rows), "row")
