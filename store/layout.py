"""The protocol of layouts: how events are stored in tables and read again.

Queries and the ingest worker know a layout by this protocol only. Read ``Layout`` first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from watchfloor.schema.field import Field
from watchfloor.schema.filter.tree import Condition, Filter, Value
from watchfloor.schema.read_costs import ReadCosts
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import KEY_COLUMN

from .reader import Reader
from .stats.answer import PartialGroups
from .stats.program import StatsProgram
from .store import Store

FieldValue = tuple[Field, Value]
"""An indexed field and a typed value: the condition ``field = value``."""


@dataclass(frozen=True)
class IndexCount:
    """The index's answer about one condition.

    About ``events`` events satisfy the condition. The index has ``places`` hits for it: events in one layout, blocks of
    events in the other. ``entries`` is the number of index entries behind this answer. No event that satisfies the
    condition is newer than ``newest`` (µs); None: not known.
    """

    events: int
    places: int
    entries: int
    newest: int | None = None


@dataclass(frozen=True)
class TableWrite:
    """A batch of entries for one table, ``entries`` in number.

    If ``wide``, the batch has a row per table row and a column per cell; otherwise it has a row per entry. Entries that
    are ``ahead`` must be durable before those of any later write are written.
    """

    table: str
    batch: pa.RecordBatch
    wide: bool
    entries: int
    ahead: bool = False


@dataclass(frozen=True)
class ReadRequest:
    """Asks for ``columns`` of the events in [since, until) (µs) that satisfy ``where``; of all events if it is None.

    The first batch is handed over after about ``first_rows`` events. With a ``limit`` only that number of newest events
    is needed; more may be returned.
    """

    since: int
    until: int
    where: Filter | None
    columns: Sequence[str]
    first_rows: int
    limit: int | None = None


@dataclass(frozen=True)
class StatsRequest:
    """Asks for the groups, by ``program``, of the events in [since, until) (µs) that satisfy ``where``."""

    since: int
    until: int
    where: Filter | None
    program: StatsProgram


@dataclass(frozen=True)
class TopRequest:
    """Asks for the first ``most`` events, in an order, of those in [since, until) (µs) that satisfy ``where``.

    ``program`` is that of the order (``sorting/keys.py``). Only events whose sort keys are after ``after`` and before
    ``bound`` are wanted; None sets no limit. Sort keys end with ``suffix``.
    """

    since: int
    until: int
    where: Filter | None
    program: bytes
    most: int
    after: bytes | None = None
    bound: bytes | None = None
    suffix: bytes = b""

    def make_options(self, source: Source) -> dict[str, str | bytes]:
        """Returns the options of the order, which the iterators of all layouts take (Java's ``SortOptions``)."""
        keys = {"after": self.after, "bound": self.bound, "suffix": self.suffix}
        given: dict[str, str | bytes] = {name: key for name, key in keys.items() if key}
        return {"sort": self.program, "events": str(self.most), "time": source.time_field, **given}


def make_event_schema(source: Source, columns: Sequence[str]) -> pa.Schema:
    """Returns the schema of the batches of events that a layout returns: typed columns, then the events' keys."""
    fields = [pa.field(name, source.find_field(name).arrow) for name in columns]
    return pa.schema([*fields, pa.field(KEY_COLUMN, pa.binary())])


@dataclass(frozen=True)
class GoneLines:
    """The lines of an item that are no events by the last reading: their offsets, and the times (µs) that they hold.

    An earlier reading may have died after it wrote events of these lines and before it counted them.
    """

    offsets: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    times: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


def _do_nothing() -> None:
    pass


@dataclass(frozen=True)
class SweepGuard:
    """The functions that a sweep calls to keep its work item. Both may raise to stop it.

    ``report`` gives a sign of life, and is called every few seconds at least. ``confirm`` returns only if no other
    worker has taken the item over: what another worker writes then comes after the call.
    """

    report: Callable[[], None] = _do_nothing
    confirm: Callable[[], None] = _do_nothing


UNGUARDED = SweepGuard()
"""Does nothing: the guard of a sweep whose item no other process can take over."""


class Encoder(Protocol):
    """Turns the events of one work item into entries. The result does not depend on how events are cut into batches."""

    def encode(self, events: pa.RecordBatch) -> list[TableWrite]:
        """Returns entries of a batch of events, which has the source's columns and ``keys.OFFSET_COLUMN``.

        Some of these entries may be returned only by a later call, by ``finish`` or by ``replace_earlier``.
        """

    def finish(self) -> list[TableWrite]:
        """Returns the remaining entries and those of the item's counts."""

    def replace_earlier(self, store: Store, guard: SweepGuard) -> list[TableWrite]:
        """Puts this reading's events in the place of those of earlier readings, as far as they were kept until now.

        Returns the entries that are left to write. Called once, after ``finish``, if the item is read again.
        """

    def sweep_earlier(self, store: Store, gone: GoneLines, guard: SweepGuard) -> None:
        """Removes the entries that an earlier reading of the item wrote and this reading did not write again.

        The entries of this reading must be durable by now. ``gone`` are the item's lines that are not events any more.
        Events, index entries and counts are removed, so that all three agree. What is removed was read before a call
        of ``guard.confirm``. A sweep that was interrupted can be repeated.
        """


class ValueCounts(Protocol):
    """Counts the events in [since, until) (µs) by the values of indexed fields."""

    def estimate_conditions(
        self,
        reader: Reader,
        source: Source,
        conditions: Sequence[Condition],
        since: int,
        until: int,
        max_entries: int | None,
    ) -> list[IndexCount | None]:
        """Returns the index's answer about each condition on an indexed field.

        The answer is None for a condition of many values that has more than ``max_entries`` index entries in a shard,
        because its reading is given up there. With ``max_entries`` None no reading is given up.
        """

    def count_events(self, reader: Reader, source: Source, term: FieldValue, since: int, until: int) -> int:
        """Returns the exact number of events that have the value."""

    def count_over_time(
        self, reader: Reader, source: Source, condition: Condition, width: int, since: int, until: int
    ) -> Counter[int] | None:
        """Returns exact counts of the events that satisfy a condition, by the start (µs) of their bucket.

        An event counts once, also if several elements of its list satisfy the condition. ``width`` (µs) is that of a
        bucket: a minute, an hour or a day. Returns None if the condition has too many index entries; an equality never
        has.
        """

    def count_values(
        self, reader: Reader, source: Source, condition: Condition, since: int, until: int, most: int | None
    ) -> Counter[bytes] | None:
        """Returns the exact count of every value of an indexed field that satisfies a condition on the field.

        The counts are by the values as they stand in index rows. All values from the first to the last index row of the
        condition are counted: it is ``exists``, a prefix or a network. The answer is None if more than ``most`` of them
        occur at any time, because reading is given up there. With ``most`` None no reading is given up.
        """


class Layout(Protocol):
    """Writes the events of a source to its tables and reads them."""

    name: str
    hits_exact: bool
    """True if every hit of an equality is an event that satisfies it; false if a hit is a block that may hold some."""
    costs: ReadCosts
    """The default costs of reading, for a store on which they were not measured."""
    max_entries: int
    """The largest number of index entries in a shard with which a condition of many values is worth looking up."""

    @property
    def counts(self) -> ValueCounts: ...

    def make_encoder(self, source: Source, file_id: bytes, item_id: bytes, again: bool = False) -> Encoder:
        """Returns an encoder of one work item's events.

        ``again`` says that parts of the item may have been written before, so that ``replace_earlier`` and
        ``sweep_earlier`` will be called.
        """

    def scan_events(self, reader: Reader, source: Source, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Returns the requested events, newest first, in batches by ``make_event_schema``. Ties are ordered by key."""

    def find_hits(
        self, reader: Reader, source: Source, conditions: Sequence[Condition], since: int, until: int
    ) -> list[pa.Array]:
        """Returns the hits of each condition in [since, until): opaque binary IDs, sorted, which is newest first."""

    def fetch_events(
        self, reader: Reader, source: Source, hits: pa.Array, request: ReadRequest
    ) -> Iterator[pa.RecordBatch]:
        """Returns the requested events of sorted ``hits``, in the order and batches of ``scan_events``.

        The hits are some of those that ``find_hits`` returned for a time range that covers that of the request.
        """

    def aggregate_events(
        self, reader: Reader, source: Source, request: StatsRequest, hits: pa.Array | None = None
    ) -> Iterator[PartialGroups]:
        """Returns the groups of the requested events, or of those of sorted ``hits``, as tablet servers compute them.

        Each event is in the groups of one part of the answer. The parts come in no order.
        """

    def find_top(
        self, reader: Reader, source: Source, request: TopRequest, hits: pa.Array | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Returns the requested events, or those of them among sorted ``hits``, by their sort keys and hits.

        The batches are by ``sorting/answer.FOUND``, in no order. Each tablet server answers for its part of the events,
        so more events than are wanted may be returned. ``fetch_events`` fetches them; a hit may lead to others too.
        """
