"""Translates flags and members of JSON bodies into requests for the query service."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from watchfloor.query.batches.settings import BatchSettings
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.times import epoch_micros, format_micros, parse_time

TimeInput = str | int | float | None
"""A time as text, or as seconds since 1970 UTC; None stands for a time that was not given."""


def parse_time_range(since: TimeInput, until: TimeInput, now: int | None = None) -> tuple[int | None, int | None]:
    """Returns [since, until) in µs since 1970 UTC, both relative to one ``now`` (µs; by default the clock's).

    Raises ``TimeRangeError`` if the range is empty or a time cannot be read.
    """
    now = time.time_ns() // 1000 if now is None else now
    begin, end = _to_micros(since, now), _to_micros(until, now)
    if begin is not None and end is not None and begin >= end:
        when = "is after" if begin > end else "is the same as"
        raise TimeRangeError(
            f"since ({format_micros(begin)}) {when} until ({format_micros(end)}); a range is [since, until)"
        )
    return begin, end


def read_query_request(members: Mapping[str, Any]) -> QueryRequest:
    """Returns the request that the members of a REST body, or flags of the same names, ask for.

    Members that are missing or None keep their defaults. Raises ``UserError`` for a value that does not fit.
    """
    given = {name: value for name, value in members.items() if value is not None}
    since, until = parse_time_range(given.pop("since", None), given.pop("until", None))
    if "columns" in given:
        given["columns"] = tuple(given["columns"])
    if "batching" in given:
        given["batching"] = read_batch_settings(given["batching"])
    return QueryRequest(**{"where": None, "columns": None, "limit": None, **given, "since": since, "until": until})


def read_stats_query(members: Mapping[str, Any]) -> StatsQuery:
    """Returns the aggregation that the members of a REST body, or flags of the same names, ask for.

    Members that are missing or None keep their defaults. Raises ``UserError`` for a value that does not fit.
    """
    given = {name: value for name, value in members.items() if value is not None}
    since, until = parse_time_range(given.pop("since", None), given.pop("until", None))
    return StatsQuery(**given, since=since, until=until)


def read_batch_settings(members: Mapping[str, Any]) -> BatchSettings:
    """Returns batch settings by their names; None keeps the default, and a whole float is taken as an integer.

    Raises ``UserError`` for an unknown name or a bad value.
    """
    whole = {setting.name for setting in fields(BatchSettings) if setting.type == "int"}
    given = {name: value for name, value in members.items() if value is not None}
    for name in whole & set(given):
        if isinstance(given[name], float) and given[name].is_integer():
            given[name] = int(given[name])
        if type(given[name]) is not int:  # isinstance would let a bool pass
            raise UserError(f"batching: {name} = {given[name]!r} must be a whole number")
    try:
        return BatchSettings(**given)
    except (TypeError, ValueError) as error:
        raise UserError(f"batching: {error}") from None


def _to_micros(moment: TimeInput, now: int) -> int | None:
    if moment is None or isinstance(moment, str):
        return None if moment is None else parse_time(moment, now)
    return epoch_micros(moment)
