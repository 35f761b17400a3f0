"""Finds the matches of correlations in the matches of their rules.

Matches are grouped by the texts of the fields in ``group-by``; a match that lacks one of them is in no group. Windows
of time (``windows.py``) that fulfil the condition and follow one another without a gap are told as one match.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from watchfloor.schema.filter.sigma.correlations.model import (
    Correlation,
    CountCondition,
    MemberFields,
    RuleLogic,
    RuleMatches,
)
from watchfloor.schema.source import Source
from watchfloor.schema.times import format_micros

from .kept_matches import KeptMatches
from .match_table import MatchTable, find_complete_rows, join_tables, number_texts
from .windows import Windows

MAX_TOLD_EVENTS = 20
"""The number of events of a correlation's match whose IDs are told."""
Mask = npt.NDArray[np.bool_]
_COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True)
class CorrelationMatch:
    """A match: windows of one group that fulfil the condition and follow one another.

    ``time`` is when the first of them does so (µs), ``first`` and ``last`` are the times of the first and the last of
    the matches in them, ``count`` their number, and ``values`` the number of distinct values among them. ``id`` is the
    same for the same correlation, group and time. ``events`` are IDs of the first of the matches.
    """

    id: str
    time: int
    group: Mapping[str, str]
    first: int
    last: int
    count: int
    values: int | None
    rules: tuple[str, ...]
    sources: tuple[str, ...]
    events: tuple[str, ...]

    def to_json(self) -> str:
        """Returns the match as an object, which stands in the place of an event."""
        told = {
            "group": self.group,
            "count": self.count,
            **({} if self.values is None else {"values": self.values}),
            "first": format_micros(self.first),
            "last": format_micros(self.last),
            "rules": self.rules,
            "events": self.events,
        }
        return orjson.dumps(told).decode()


@dataclass(frozen=True)
class _Found:
    """The sorted matches of a correlation's rules, their windows, and which of these fulfil the condition."""

    table: MatchTable
    windows: Windows
    fulfilled: Mask


def find_correlation_matches(
    correlation: Correlation, kept: KeptMatches, sources: Mapping[str, Source]
) -> Iterator[CorrelationMatch]:
    """Yields the matches of a correlation, sorted by group and time."""
    found = _find_windows(correlation, kept, sources)
    if found is None:
        return
    titles = [member.rule.info.title for member in correlation.members]
    firsts, lasts = found.windows.find_episodes(found.fulfilled)
    for at, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        yield _tell_episode(correlation, found, titles, (int(found.windows.starts[at]), at, last))


def _tell_episode(
    correlation: Correlation, found: _Found, titles: Sequence[str], rows: tuple[int, int, int]
) -> CorrelationMatch:
    """Returns the match of the rows from the first in its windows to the last; the second fulfils the condition."""
    start, at, last = rows
    table, span = found.table, slice(start, last + 1)
    many = last + 1 - start
    group = {name: column[at].as_py() for name, column in zip(correlation.groups, table.groups, strict=True)}
    time = int(table.times[at])
    values = [column.slice(start, many) for column in table.values]
    told = table.ids.slice(start, min(many, 4 * MAX_TOLD_EVENTS)).to_pylist()
    return CorrelationMatch(
        _make_id(correlation, group, time),
        time,
        group,
        int(table.times[start]),
        int(table.times[last]),
        many,
        len(np.unique(number_texts(values, many))) if correlation.kind == "value_count" else None,
        tuple(titles[member] for member in np.unique(table.members[span]).tolist()),
        tuple(sorted(set(table.sources.slice(start, many).unique().to_pylist()))),
        tuple(dict.fromkeys(told))[:MAX_TOLD_EVENTS],
    )


def _make_id(correlation: Correlation, group: Mapping[str, str], time: int) -> str:
    text = orjson.dumps([correlation.info.id, correlation.info.title, list(group.items()), time])
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _find_windows(correlation: Correlation, kept: KeptMatches, sources: Mapping[str, Source]) -> _Found | None:
    """Returns the windows of a correlation; None if its rules have no match."""
    tables: list[MatchTable] = []
    for number, member in enumerate(correlation.members):
        if isinstance(member.rule, Correlation):
            inner = _find_windows(member.rule, kept, sources)
            if inner is not None and inner.fulfilled.any():
                tables.append(_list_moments(member.rule, inner, member.fields[""], number))
        else:
            tables += kept.list_tables(member, number, sources)
    if not tables:
        return None
    table = join_tables(tables)
    table = table.take(find_complete_rows([*table.groups, *table.values], len(table.times)))
    if not len(table.times):
        return None
    groups = number_texts(table.groups, len(table.times))
    rows = np.lexsort((table.members, table.times, groups))
    table, groups = table.take(rows), groups[rows]
    if correlation.kind == "event_count":  # an event that two rules match is one event
        keep = np.unique(groups * len(rows) + number_texts([table.ids], len(rows)), return_index=True)[1]
        keep.sort()
        table, groups = table.take(keep), groups[keep]
    windows = Windows(groups, table.times, correlation.span)
    return _Found(table, windows, _test_windows(correlation, table, windows))


def _list_moments(correlation: Correlation, found: _Found, fields: MemberFields, member: int) -> MatchTable:
    """Returns the times at which a correlation's windows fulfil its condition, as matches of an outer correlation."""
    rows = (found.fulfilled & (found.windows.ends == np.arange(len(found.fulfilled)))).nonzero()[0]
    own = found.table.take(rows)
    columns = dict(zip(correlation.groups, own.groups, strict=True))
    ids = [
        _make_id(correlation, {name: column[row].as_py() for name, column in columns.items()}, int(own.times[row]))
        for row in range(len(rows))
    ]
    return MatchTable(
        own.times,
        np.full(len(rows), member, np.int64),
        pa.array(ids, pa.string()),
        own.sources,
        [columns[name] for name in fields.groups],
        [columns[name] for name in fields.values],
    )


def _test_windows(correlation: Correlation, table: MatchTable, windows: Windows) -> Mask:
    """Returns for each window whether it fulfils the condition."""
    condition = correlation.condition
    present = [table.members == number for number in range(len(correlation.members))]
    if not isinstance(condition, CountCondition):
        return _test_logic(condition, [windows.find_any(mask) for mask in present])
    match correlation.kind:
        case "temporal_ordered":
            return windows.find_ordered(present)
        case "temporal":
            counts = windows.count_distinct(table.members)
        case "value_count":
            counts = windows.count_distinct(number_texts(table.values, len(table.times)))
        case _:
            counts = windows.count_rows()
    result: Mask = _COMPARE[condition.op](counts, condition.number)
    return result


def _test_logic(logic: RuleLogic | RuleMatches, present: Sequence[Mask]) -> Mask:
    if isinstance(logic, RuleMatches):
        return present[logic.member]
    parts = [_test_logic(part, present) for part in logic.parts]
    if logic.word == "not":
        return ~parts[0]
    joined: Mask = (np.logical_and if logic.word == "and" else np.logical_or).reduce(parts)
    return joined
