"""Where the index leads for conditions of many values, in both layouts: a range of its rows, read on the servers.

An equality's row is read as it stands (``index_rows``); a range of values may have any number of rows, so the tablet
servers test the values and sum the hits of each place (``watchfloor.iterators.PlacesIterator``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import pyarrow as pa

from watchfloor.schema.filter.tree import Compare, Condition
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import SHARD_BYTES, index_table, shard_names
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.values import CUT_BYTES, CUT_DIGEST

from .rows import ValueRows, value_rows

if TYPE_CHECKING:
    from watchfloor.store.store import Iterators, Store

T = TypeVar("T")
_HEADER = struct.Struct(">BI")
_HITS_BYTES = 4


@dataclass(frozen=True)
class Places:
    """The places of one condition, each once: ``ids`` (n, bytes) their keys with the shard last, ``hits`` of each.

    ``entries`` of the index were read. Not ``complete``: the reading was given up.
    """

    ids: np.ndarray
    hits: np.ndarray
    entries: int
    complete: bool

    def some(self, which: np.ndarray) -> Places:
        return self if which.all() else Places(self.ids[which], self.hits[which], self.entries, self.complete)


@dataclass(frozen=True)
class Remembered(Generic[T]):
    """All that the index has of something in [since, until)."""

    since: int
    until: int
    found: T

    def covers(self, since: int, until: int) -> bool:
        return self.since <= since and until <= self.until


def apart(conditions: Iterable[Condition]) -> tuple[list[Compare], list[Condition]]:
    """The equalities, which have a row a shard, and the conditions of many values; each once."""
    equal: list[Compare] = []
    many: list[Condition] = []
    for condition in dict.fromkeys(conditions):
        if isinstance(condition, Compare) and condition.op == "=":
            equal.append(condition)
        else:
            many.append(condition)
    return equal, many


def read_places(
    store: Store,
    source: Source,
    conditions: Sequence[Condition],
    since: int,
    until: int,
    bounds: Callable[[int, int], tuple[bytes, bytes]],
    width: int,
    most: int | None,
) -> list[Places]:
    """The places of each condition with keys of ``width`` bytes in the ``bounds`` of [since, until): a scan each, at
    once.

    ``most``: entries of a shard after which it is given up; None is never. A snapshot sees always the same, so of it
    nothing is read twice; what it has may reach beyond the time range.
    """
    known: dict[object, Remembered[Places]] = store.remembered if store.remembered is not None else {}
    new = [
        c
        for c in dict.fromkeys(conditions)
        if (before := known.get((source.name, c))) is None or not before.covers(since, until)
    ]
    found: dict[Condition, Places] = {}
    with ExitStack() as stack:
        scans = [
            stack.enter_context(_begin(store, source, value_rows(condition, source), *bounds(since, until), most))
            for condition in new
        ]
        for condition, scan in zip(new, scans, strict=True):
            found[condition] = places = _gathered(scan, width)
            if places.complete:
                known[source.name, condition] = Remembered(since, until, places)
    return [found[c] if c in found else known[source.name, c].found for c in conditions]


def _begin(
    store: Store, source: Source, rows: ValueRows, low: bytes, high: bytes, most: int | None
) -> AbstractContextManager[Iterable[pa.RecordBatch]]:
    ranges = Ranges()
    if rows.start < rows.end:
        for shard in shard_names(source.shards):
            ranges.add_rows(shard + rows.start, shard + rows.end)
    options: dict[str, str | bytes] = {"skip": str(SHARD_BYTES + rows.skip), "low": low, "high": high}
    if rows.test is not None:
        options |= {"test": rows.test, "cut": str(CUT_BYTES + CUT_DIGEST)}
    if rows.reversed:
        options["reversed"] = "true"
    if most is not None:
        options["most"] = str(most)
    iterators: Iterators = [(30, "places", "watchfloor.iterators.PlacesIterator", options)]
    return store.begin_scan(index_table(source), ranges, iterators, ordered=False)


def _gathered(scan: Iterable[pa.RecordBatch], width: int) -> Places:
    """The answers of all shards, a place's hits summed."""
    parts: list[np.ndarray] = []
    entries, complete = 0, True
    for batch in scan:
        for row, value in zip(batch.column("row").to_pylist(), batch.column("value").to_pylist(), strict=True):
            given_up, read = _HEADER.unpack_from(value)
            entries += read
            complete = complete and not given_up
            packed = np.frombuffer(value, np.uint8, offset=_HEADER.size).reshape(-1, width + _HITS_BYTES)
            shard = np.broadcast_to(np.frombuffer(row[:SHARD_BYTES], np.uint8), (len(packed), SHARD_BYTES))
            parts.append(np.concatenate((packed[:, :width], shard, packed[:, width:]), axis=1))
    if not parts:
        return Places(np.empty((0, width + SHARD_BYTES), np.uint8), np.empty(0, np.int64), entries, complete)
    together = np.concatenate(parts)
    keys = np.ascontiguousarray(together[:, : width + SHARD_BYTES])
    hits = np.ascontiguousarray(together[:, width + SHARD_BYTES :]).view(">u4").reshape(-1)
    distinct, of = np.unique(keys.view(f"V{width + SHARD_BYTES}").reshape(-1), return_inverse=True)
    sums = np.bincount(of, hits, len(distinct)).astype(np.int64)
    return Places(distinct.view(np.uint8).reshape(-1, width + SHARD_BYTES), sums, entries, complete)
