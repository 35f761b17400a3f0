"""From what people write (flags, JSON bodies) to what the query service takes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from watchfloor.query.batches.policies import BatchSettings
from watchfloor.query.service import QueryRequest
from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.times import epoch_micros, format_micros, parse_time

Moment = str | int | float | None


def time_range(since: Moment, until: Moment, now: int | None = None) -> tuple[int | None, int | None]:
    """[since, until) in µs, both relative to one ``now``; raises ``TimeRangeError`` if it is empty."""
    now = time.time_ns() // 1000 if now is None else now
    begin, end = _micros(since, now), _micros(until, now)
    if begin is not None and end is not None and begin >= end:
        when = "is after" if begin > end else "is the same as"
        raise TimeRangeError(
            f"since ({format_micros(begin)}) {when} until ({format_micros(end)}); a range is [since, until)"
        )
    return begin, end


def query_request(asked: Mapping[str, Any]) -> QueryRequest:
    """A request from the members of ``body.QUERY_SCHEMA``; those that are missing or None keep their defaults."""
    given = {name: value for name, value in asked.items() if value is not None}
    since, until = time_range(given.pop("since", None), given.pop("until", None))
    if "columns" in given:
        given["columns"] = tuple(given["columns"])
    if "batching" in given:
        given["batching"] = batch_settings(given["batching"])
    return QueryRequest(**{"where": None, "columns": None, "limit": None, **given, "since": since, "until": until})


def batch_settings(given: Mapping[str, Any]) -> BatchSettings:
    """Batch settings by their names; raises ``UserError`` for an unknown one or a bad value."""
    try:
        return BatchSettings(**given)
    except (TypeError, ValueError) as error:
        raise UserError(f"batching: {error}") from None


def _micros(moment: Moment, now: int) -> int | None:
    if moment is None or isinstance(moment, str):
        return None if moment is None else parse_time(moment, now)
    return epoch_micros(moment)
