"""Counts of all events of a source, from the aggregate table, and of events with a value, from its layout.

A time range is read as the fewest buckets that cover it: whole days, then whole hours at both ends. The remaining edges
are counted exactly from the events.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watchfloor.schema.choices import BUCKETS
from watchfloor.schema.errors import UserError
from watchfloor.schema.field import Field
from watchfloor.schema.filter.tree import Compare, Condition, Exists, InList, InQuery, Value
from watchfloor.schema.source import Source
from watchfloor.schema.times import close_range
from watchfloor.store.encoding.index_values import decode_index_value, may_be_cut
from watchfloor.store.encoding.keys import DAY, HOUR, MAX_TIME, MINUTE
from watchfloor.store.index.count_buckets import (
    Span,
    cover_range,
    drop_empty_spans,
    make_bucket_cells,
    make_bucket_row,
    make_cells,
    make_cover_cells,
    make_row_range,
    merge_hours,
    read_counts,
    sum_buckets,
)
from watchfloor.store.index.few_values import are_few, begin_values
from watchfloor.store.layout import IndexCount, ReadRequest
from watchfloor.store.reader import Reader
from watchfloor.store.retention.policy import cut_range, find_kept_from

from .count_memory import HourlyEvents, begin_hours
from .registry import find_layout

BUCKET_WIDTHS = dict(zip(BUCKETS, (MINUTE, HOUR, DAY), strict=True))
"""Width of a bucket in microseconds, by name."""
_EDGE_ROWS = 4096
LIST_ENTRY_SECONDS = 1.5e-6
"""Seconds in which an index entry is read, or skipped, while a list is looked for."""
LIST_SHARE = 0.5
"""Share of the time of a scan that planning may spend on the index entries of a list."""


@dataclass(frozen=True, eq=False)
class EventSurvey:
    """Counts of the events in [since, until) (µs), read before the events themselves.

    ``hours`` are the starts of the hours that touch the range and have events, ascending, and ``events`` the number of
    events in each hour. ``busy`` are these hours as spans, newest first, with neighbours merged. ``total`` is the sum
    of ``events``. ``counts`` has the index's answer about each condition; None if it was too much to read. ``known`` is
    the range again, but each open end is cut to the hours that have events, also if more may have come since.
    """

    since: int
    until: int
    hours: np.ndarray
    events: np.ndarray
    busy: list[Span]
    total: int
    counts: list[IndexCount | None]
    known: Span

    def estimate_newer(self, time: int) -> int:
        """Returns the approximate number of events newer than ``time`` (µs)."""
        shares = np.clip((self.hours + HOUR - time) / HOUR, 0, 1)
        return int(self.events @ shares)


class CountReader:
    """Counts events of one source. Without a field and a value, all its events are counted."""

    def __init__(self, reader: Reader, source: Source) -> None:
        self._reader, self._source, self._layout = reader.snapshot(), source, find_layout(source)

    def read_survey(
        self, conditions: Sequence[Condition], since: int | None, until: int | None, thorough: bool = False
    ) -> EventSurvey:
        """Returns the counts that a plan needs for [since, until); None stands for the oldest or newest event's hour.

        Everything is read at the same time. Reading a condition of many values is given up if it has more index entries
        than the layout finds worth reading, unless ``thorough``.
        """
        lists, others = _split_lists(conditions)
        low, high = self.close_range(since, until)
        with begin_hours(self._reader, self._source, low, high) as read:
            found = self._estimate(others, low, high, None if thorough else self._layout.max_entries)
            buckets, events = sum_buckets(read)
        found |= self._estimate(lists, low, high, None if thorough else self._bound_list_entries(int(events.sum())))
        known = _cut_open_ends(since, until, (low, high), buckets)
        counts = [found[condition] for condition in conditions]
        return EventSurvey(*known, buckets, events, merge_hours(buckets), int(events.sum()), counts, known)

    def estimate_survey(
        self,
        known: HourlyEvents,
        conditions: Sequence[Condition],
        since: int | None,
        until: int | None,
        recall: Callable[[int], list[IndexCount | None] | None] | None = None,
    ) -> EventSurvey | None:
        """Returns a survey by events of hours that were counted a while ago; only ``conditions`` are counted now.

        With ``recall`` they are not, but taken from what it returns for the number of events. As events may have come
        since, the whole of [since, until) is busy; None leaves an end open. Returns None if no events are known in it,
        or nothing is recalled.
        """
        low, high = self.close_range(since, until)
        touching = (known.hours + HOUR > low) & (known.hours < high)
        hours, events = known.hours[touching], known.events[touching]
        total = int(events.sum())
        counts = recall(total) if total and recall else None
        if not total or (recall and counts is None):
            return None
        if counts is None:
            lists, others = _split_lists(conditions)
            found = self._estimate(others, low, high, self._layout.max_entries)
            found |= self._estimate(lists, low, high, self._bound_list_entries(total))
            counts = [found[condition] for condition in conditions]
        ends = _cut_open_ends(since, until, (low, high), hours)
        return EventSurvey(low, high, hours, events, [(low, high)], total, counts, ends)

    def _estimate(
        self, conditions: Sequence[Condition], since: int, until: int, max_entries: int | None
    ) -> dict[Condition, IndexCount | None]:
        """Returns the index's answer about each condition; None if it has more entries in a shard than allowed."""
        if not conditions:
            return {}
        counts = self._layout.counts
        found = counts.estimate_conditions(self._reader, self._source, conditions, since, until, max_entries)
        return dict(zip(conditions, found, strict=True))

    def _bound_list_entries(self, events: int) -> int:
        """Returns the number of index entries of a shard after which reading those of a long list is given up.

        Reading them then takes about half of the time of a scan of all ``events``, at most.
        """
        entries = events * self._layout.costs.event * LIST_SHARE / LIST_ENTRY_SECONDS / self._source.shards
        return max(self._layout.max_entries, int(entries))

    def count_events(self, since: int, until: int, field: Field | None = None, value: Value | None = None) -> int:
        """Returns the exact number of events in [since, until), or of those events that have the value."""
        if field is not None and value is not None:
            return self._layout.counts.count_events(self._reader, self._source, (field, value), since, until)
        since, until = self._cut_to_kept(since, until)
        parts = cover_range(since, until)
        minutes, edges = _split_minutes(parts.edges)
        cells = make_cover_cells(parts) + b"".join(make_cells("m", span) for span in minutes)
        total = 0
        if cells:
            total = sum(count for _, _, count in self._read_totals(cells, "row"))
        return total + sum(len(self._read_times(span)) for span in edges)

    def count_over_time(
        self, bucket: str, since: int, until: int, field: Field | None = None, value: Value | None = None
    ) -> list[tuple[int, int]]:
        """Returns (start in µs, count) of each bucket in [since, until) that has events, oldest first.

        Raises ``UserError`` for an unknown bucket.
        """
        if bucket not in BUCKETS:
            raise UserError(f"unknown bucket {bucket!r}; known are {', '.join(BUCKETS)}")
        width = BUCKET_WIDTHS[bucket]
        if field is not None and value is not None:
            return self.count_matches_over_time(bucket, since, until, Compare(field.name, "=", value)) or []
        since, until = self._cut_to_kept(since, until)
        counts: Counter[int] = Counter()
        whole = (-(-since // width) * width, until // width * width)
        edges: tuple[Span, ...] = ((since, until),)
        if whole[0] < whole[1]:
            edges = drop_empty_spans((since, whole[0]), (whole[1], until))
            for _, start, count in self._read_totals(make_bucket_cells(width, whole), "bucket"):
                counts[start // width * width] += count
        for span in edges:
            counts.update((self._read_times(span) // width * width).tolist())
        return sorted(counts.items())

    def count_matches_over_time(
        self, bucket: str, since: int, until: int, condition: Condition
    ) -> list[tuple[int, int]] | None:
        """Returns as ``count_over_time`` does the counts of the events that satisfy a condition on an indexed field.

        The index must have the values that satisfy it next to each other: it is an equality, a network, or an ending
        of a field with reversed values. Returns None if it has too many index entries.
        """
        width = BUCKET_WIDTHS[bucket]
        found = self._layout.counts.count_over_time(self._reader, self._source, condition, width, since, until)
        return None if found is None else sorted(found.items())

    def find_bounds(self) -> Span | None:
        """Returns times around all events: in the oldest day with some, and the end of the newest; None without any."""
        days = [start for _, start, _ in self._read_totals(make_cells("d", (0, MAX_TIME // DAY * DAY)), "bucket")]
        kept_from = find_kept_from(self._reader, self._source.name)
        return (max(min(days), kept_from), max(days) + DAY) if days and max(days) + DAY > kept_from else None

    def rank_values(
        self, field: Field, since: int, until: int, limit: int, ascending: bool = False
    ) -> list[tuple[object, int]]:
        """Returns the values of an indexed field with the most events in [since, until), exactly; ties by value.

        If ``ascending``, those with the fewest.
        """
        condition = Exists(field.name)
        counts = self._layout.counts.count_values(self._reader, self._source, condition, since, until, None)
        sign = 1 if ascending else -1
        best = heapq.nsmallest(limit, (counts or Counter()).items(), key=lambda item: (sign * item[1], item[0]))
        return [(decode_index_value(field.scalar, value), count) for value, count in best]

    def count_few_values(self, field: Field, since: int, until: int, most: int) -> tuple[int, dict[object, int]] | None:
        """Returns the number of all events, and the exact count of every value of an indexed field.

        Returns None if it has more than ``most`` values, or one that is longer than index rows have them. Events that
        arrive meanwhile may be counted among the values only.
        """
        with begin_values(self._reader, self._source, field, most) as values:
            total = self.count_events(since, until)
            if not are_few(values, most):
                return None
        counts = self._layout.counts.count_values(self._reader, self._source, Exists(field.name), since, until, most)
        if counts is None or any(may_be_cut(value) for value in counts):
            return None
        return total, _decode_values(field, counts)

    def count_chosen_values(self, condition: Condition, since: int, until: int, most: int) -> dict[object, int] | None:
        """Returns the exact count of every value of an indexed field that satisfies ``exists``, a prefix or a network.

        Returns None if more than ``most`` values of any time do.
        """
        counts = self._layout.counts.count_values(self._reader, self._source, condition, since, until, most)
        if counts is None:
            return None
        return _decode_values(self._source.find_field(condition.field), counts)

    def close_range(self, since: int | None, until: int | None) -> Span:
        """Returns the part of [since, until) whose events are kept, with the first and the last time for open ends."""
        return self._cut_to_kept(*close_range(since, until))

    def _cut_to_kept(self, since: int, until: int) -> Span:
        """Returns the part of [since, until) whose events are kept."""
        return cut_range(self._reader, self._source.name, since, until)

    def _read_totals(self, cells: bytes, by: str) -> list[tuple[bytes, int, int]]:
        """Returns (row, start of the bucket, count) of these cells of the row that counts all events."""
        return list(
            read_counts(self._reader, self._source, make_row_range(make_bucket_row(self._source, None)), cells, by)
        )

    def _read_times(self, span: Span) -> np.ndarray:
        """Returns the times (int64 µs) of the events in ``span``, read from the events themselves."""
        name = self._source.time_field
        batches = self._layout.scan_events(self._reader, self._source, ReadRequest(*span, None, [name], _EDGE_ROWS))
        times = [batch.column(0).cast(pa.int64()).to_numpy() for batch in batches]
        return np.concatenate(times) if times else np.empty(0, np.int64)


def _split_lists(conditions: Sequence[Condition]) -> tuple[Sequence[Condition], Sequence[Condition]]:
    """Returns the conditions about lists of many values, and the others."""
    lists = [condition for condition in conditions if isinstance(condition, (InList, InQuery))]
    return lists, [condition for condition in conditions if condition not in lists]


def _cut_open_ends(since: int | None, until: int | None, whole: Span, hours: np.ndarray) -> Span:
    """Returns the range ``whole``, with each end that was not given (None) taken from the hours that have events.

    The range is never negative.
    """
    oldest, newest = (int(hours[0]), int(hours[-1]) + HOUR) if len(hours) else (0, 0)
    begin = max(whole[0], oldest) if since is None else whole[0]
    return begin, max(begin, newest) if until is None else whole[1]


def _decode_values(field: Field, counts: Counter[bytes]) -> dict[object, int]:
    return {decode_index_value(field.scalar, value): count for value, count in counts.items()}


def _split_minutes(edges: tuple[Span, ...]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Returns the parts of edges that are whole minutes, which have counts of all events, and the remaining parts."""
    minutes = [(-(-since // MINUTE) * MINUTE, until // MINUTE * MINUTE) for since, until in edges]
    inner = tuple(span for span in minutes if span[0] < span[1])
    outer = [
        drop_empty_spans((edge[0], span[0]), (span[1], edge[1])) if span[0] < span[1] else (edge,)
        for edge, span in zip(edges, minutes, strict=True)
    ]
    return inner, tuple(span for spans in outer for span in spans)
