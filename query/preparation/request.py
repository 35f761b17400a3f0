"""The request of a query, and the checks that need no store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from watchfloor.query.batches.settings import BatchSettings
from watchfloor.query.texts.event_ids import ID_COLUMN
from watchfloor.schema.choices import MAX_DEADLINE
from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.source import Source
from watchfloor.schema.times import from_micros

MAX_SORTED = 10_000
"""The largest limit of a query with a sort: servers and the service keep so many rows in memory."""


@dataclass(frozen=True)
class QueryRequest:
    """A request for events of one source or several, and the way in which the query is to run.

    The time range is [since, until) in µs since 1970 UTC; None leaves an end open. ``where`` is a filter as text or in
    its JSON form. ``columns`` names the fields of the result; None stands for all. With ``own_columns`` the result has
    each event as an object of its source's own fields instead. ``limit`` is the largest number of events; None stands
    for all. ``scheme`` is one of the planner's schemes, ``w`` its density factor, and ``planner`` the set of its rules:
    all (``full``), or those of the ``paper``. The query ends ``deadline`` seconds after it was started, with the rows
    found by then; None sets no deadline. ``cursor`` is from the summary of an earlier query with the same source and
    filter: this query then continues after the last row of that query, in that query's time range.

    Events come newest first, or in the order that ``sort`` names, as text (``-duration, ts``) or as a list of fields
    (``["-duration", "ts"]``). A query with a sort has a limit of at most ``MAX_SORTED``. With ``ids`` each event has
    its ID in the last column, ``_id``.
    """

    source: str
    since: int | None = None
    until: int | None = None
    where: str | Mapping[str, Any] | None = None
    columns: tuple[str, ...] | None = None
    limit: int | None = None
    scheme: str = "auto"
    w: float = 10.0
    planner: str = "full"
    batching: BatchSettings = field(default_factory=BatchSettings)
    deadline: float | None = None
    cursor: str | None = None
    own_columns: bool = False
    sort: str | Sequence[str] | None = None
    ids: bool = False


def check_limits(request: QueryRequest) -> None:
    """Raises ``UserError`` for a limit or a deadline out of its bounds, or for a time range without any time."""
    if request.limit is not None and request.limit < 1:
        raise UserError(f"limit is {request.limit}; it must be 1 or more")
    if request.sort is not None and (request.limit is None or request.limit > MAX_SORTED):
        found = "none" if request.limit is None else f"{request.limit:,}"
        raise UserError(
            f"a query with a sort takes a limit of at most {MAX_SORTED:,}, because so many rows are kept in memory "
            f"until the order is known; it has {found}. Give a limit, and go on with the cursor for more"
        )
    if request.deadline is not None and not 0 < request.deadline <= MAX_DEADLINE:
        raise UserError(f"deadline is {request.deadline:g}; it must be above 0 and at most {MAX_DEADLINE:,} seconds")
    if request.cursor is None:
        check_range(request.since, request.until)


def check_columns(request: QueryRequest, names: Iterable[str]) -> None:
    """Raises ``UserError`` if the IDs that a request asks for would stand beside a field of the same name."""
    if request.ids and ID_COLUMN in names:
        raise UserError(f"a field is named {ID_COLUMN}, as the column of the IDs is: leave one of the two out")


def check_range(since: int | None, until: int | None) -> None:
    """Raises ``TimeRangeError`` if no time lies in [since, until)."""
    if since is not None and until is not None and since >= until:
        raise TimeRangeError(
            f"the time range is empty: since {from_micros(since).isoformat()} is not before "
            f"until {from_micros(until).isoformat()}"
        )


def choose_columns(source: Source, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Returns the columns of the result, each once; None stands for all, the time first.

    Raises ``UserError`` if ``names`` is empty or the source lacks one of the fields.
    """
    if names is None:
        others = (field.name for field in source.fields if field.name != source.time_field)
        return (source.time_field, *others)
    if not names:
        raise UserError("columns is empty; name at least one, or leave it out for all")
    return tuple(dict.fromkeys(source.find_field(name).name for name in names))
