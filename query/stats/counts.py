"""Answers from counts alone, for pipes that count all events, or those that have one indexed value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa

from watchfloor.schema.choices import BUCKETS
from watchfloor.schema.field import Field
from watchfloor.schema.filter.tree import Compare, Value
from watchfloor.schema.source import Source
from watchfloor.schema.stats.tree import BucketKey, FieldKey, Key
from watchfloor.schema.times import EPOCH, close_range
from watchfloor.store.layouts.count_reader import BUCKET_WIDTHS, CountReader
from watchfloor.store.snapshot import Snapshot

from .request import CheckedStats

MOST_VALUES = 256
"""The number of values of a field up to which they are counted from the index: of more, a scan is sooner at its end."""


@dataclass(frozen=True)
class CountsAccess:
    """An answer from counts: of all events, or of those with ``term``; by ``key``, which is a bucket, a field, or None.

    ``because`` says why counts are enough. ``values`` are the counts of the values of a field that is the key.
    """

    source: Source
    key: Key | None
    term: tuple[Field, Value] | None
    because: str
    values: Mapping[Any, int] | None = None

    def read_rows(self, snapshot: Snapshot, checked: CheckedStats) -> tuple[pa.Table, int]:
        """Returns the rows of the answer before the stages of its pipe, and the number of events."""
        reader = CountReader(snapshot, self.source)
        counts = self._read_counts(reader, *close_range(checked.since, checked.until))
        names = checked.typed.schema.names
        keys = [] if self.key is None else [pa.array(list(counts), checked.typed.schema.field(0).type)]
        column = pa.array(list(counts.values()), pa.int64())
        columns = [*keys, *[column] * len(checked.typed.stats.aggregates)]
        rows = pa.Table.from_arrays(columns, schema=checked.typed.schema)
        return rows.sort_by([(names[0], "ascending")]) if keys else rows, sum(counts.values())

    def _read_counts(self, reader: CountReader, since: int, until: int) -> dict[Any, int]:
        """Returns the number of events by the value of the key."""
        term = self.term or ()
        if self.key is None:
            return {None: reader.count_events(since, until, *term)}
        if isinstance(self.key, BucketKey):
            counts: Counter[Any] = Counter()
            for start, count in reader.count_over_time(_find_bucket(self.key.width), since, until, *term):
                counts[EPOCH + timedelta(microseconds=start // self.key.width * self.key.width)] += count
            return counts
        return dict(self.values or {})


def find_counts(snapshot: Snapshot, checked: CheckedStats) -> CountsAccess | None:
    """Returns the way to answer from counts alone; None if events must be read, or if a field has many values."""
    stats, source = checked.typed.stats, checked.source
    if len(stats.keys) > 1 or any(a.function != "count" or a.field or a.where for a in stats.aggregates):
        return None
    term = None
    if checked.tree is not None:
        if not isinstance(checked.tree, Compare) or checked.tree.op != "=":
            return None
        term = source.find_field(checked.tree.field), checked.tree.value
        if not term[0].is_covered(checked.since):
            return None
    key = stats.keys[0] if stats.keys else None
    what = "all events are" if term is None else f"{term[0].name} is indexed, so its values are"
    match key:
        case None:
            return CountsAccess(source, None, term, f"{what} counted already")
        case BucketKey(_, width) if width % BUCKET_WIDTHS["minute"] == 0:
            return CountsAccess(source, key, term, f"{what} counted by {_find_bucket(width)} already")
        case FieldKey(_, name) if term is None:
            field = source.find_field(name)
            # Of a list, counts do not tell how many events have none of its values.
            if field.is_covered(checked.since) and not field.is_list:
                return _count_few_values(snapshot, checked, field, key)
    return None


def _count_few_values(snapshot: Snapshot, checked: CheckedStats, field: Field, key: Key) -> CountsAccess | None:
    """Returns the counts of an indexed field's values; None if it has many."""
    reader = CountReader(snapshot, checked.source)
    found = reader.count_few_values(field, *close_range(checked.since, checked.until), MOST_VALUES)
    if found is None:
        return None
    total, values = found
    if (missing := total - sum(values.values())) > 0:
        values[None] = missing
    because = f"{field.name} is indexed and has at most {MOST_VALUES} values, which are counted already"
    return CountsAccess(checked.source, key, None, because, values)


def _find_bucket(width: int) -> str:
    """Returns the widest bucket that is counted and divides a width."""
    return next(name for name in reversed(BUCKETS) if width % BUCKET_WIDTHS[name] == 0)
