"""Finds values of a field by the beginning of their text, for people who are typing one.

The index answers if it covers the time range and few enough of its values may fit. Otherwise the newest events are
read. Either way an answer comes soon.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_network

import pyarrow as pa

from watchfloor.schema.errors import StoreError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.names import find_single_field
from watchfloor.schema.filter.tree import Cidr, Condition, Exists, Prefix
from watchfloor.schema.times import close_range, format_micros, to_micros
from watchfloor.store.encoding.index_values import CUT_BYTES
from watchfloor.store.layouts.count_reader import CountReader
from watchfloor.store.snapshot import Snapshot

from .preparation.request import QueryRequest, check_range
from .preparation.stop import QueryStop
from .result import QueryResult

INDEX_SECONDS = 1.0
"""Seconds after which reading the index is given up."""
EVENT_SECONDS = 1.0
"""Seconds for which events are read if the index does not answer."""
MOST_VALUES = 20_000
"""The most values of the index that may fit."""
MOST_EVENTS = 20_000
"""The most events that are read if the index does not answer."""
TOO_LONG = CUT_BYTES
"""Bytes of a value's text from which on it is left out: the index may not have the whole of it."""
_OCTETS = re.compile(r"(?:\d{1,3}\.){1,3}", re.ASCII)


@dataclass(frozen=True)
class FoundValues:
    """Values that begin with a text, those of the most events first, each with its number of events.

    If not ``complete``, only the newest events were looked at.
    """

    values: tuple[tuple[object, int], ...]
    complete: bool


@dataclass(frozen=True)
class CompletionRequest:
    """Asks for at most ``limit`` values of a field whose text begins with ``prefix``, in [since, until) (µs)."""

    source: str
    field: str
    prefix: str
    limit: int
    since: int | None = None
    until: int | None = None


def complete_value(
    snapshot: Snapshot, run_query: Callable[[QueryRequest], QueryResult], request: CompletionRequest
) -> FoundValues:
    """Returns the values that a request asks for. Raises ``UserError`` if it does not fit."""
    check_range(request.since, request.until)
    source = snapshot.catalog.find_source(request.source)
    field = find_single_field(source, request.field)
    condition = _make_condition(field, request.prefix)
    counts = _count_in_index(snapshot, request, field, condition)
    if counts is not None:
        return FoundValues(_choose_values(counts.items(), request), True)
    query = QueryRequest(
        request.source,
        request.since,
        request.until,
        to_json(condition),
        (field.name,),
        MOST_EVENTS,
        deadline=EVENT_SECONDS,
    )
    result = run_query(query)
    found = Counter(value for batch in result for value in _list_values(batch.column(0)))
    return FoundValues(_choose_values(found.items(), request), result.summary["status"] == "complete")


def show_value(value: object) -> str:
    """Returns a value as the text by which it is found."""
    if isinstance(value, datetime):
        return format_micros(to_micros(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _make_condition(field: Field, prefix: str) -> Condition:
    """Returns a condition on the field that holds at least for the values whose text begins with ``prefix``."""
    if field.scalar is FieldType.STRING and prefix:
        return Prefix(field.name, prefix)
    octets = _OCTETS.match(prefix) if field.scalar is FieldType.IP else None
    if octets is not None:
        known = octets[0].rstrip(".").split(".")
        with suppress(ValueError):
            return Cidr(field.name, ip_network(f"{'.'.join(known + ['0'] * (4 - len(known)))}/{8 * len(known)}"))
    return Exists(field.name)


def _count_in_index(
    snapshot: Snapshot, request: CompletionRequest, field: Field, condition: Condition
) -> dict[object, int] | None:
    """Returns the counts of the values that satisfy a condition; None if the index does not tell them soon."""
    if not field.is_covered(request.since):
        return None
    reading = snapshot.snapshot()
    stop = QueryStop(reading, INDEX_SECONDS)
    try:
        reader = CountReader(reading, snapshot.catalog.find_source(request.source))
        return reader.count_chosen_values(condition, *close_range(request.since, request.until), MOST_VALUES)
    except StoreError:
        if stop.reason is None:
            raise
        return None
    finally:
        stop.cancel_deadline()


def _choose_values(counts: Iterable[tuple[object, int]], request: CompletionRequest) -> tuple[tuple[object, int], ...]:
    """Returns the values that begin with the prefix and have the most events."""
    shown = ((value, count, show_value(value)) for value, count in counts)
    fitting = [found for found in shown if found[2].startswith(request.prefix) and len(found[2].encode()) < TOO_LONG]
    fitting.sort(key=lambda found: (-found[1], found[2]))
    return tuple((value, count) for value, count, _ in fitting[: request.limit])


def _list_values(column: pa.Array) -> list[object]:
    """Returns the values of a column, or the distinct elements of each of its lists."""
    values: list[object] = column.to_pylist()
    if pa.types.is_list(column.type):
        values = [element for elements in values if isinstance(elements, list) for element in set(elements)]
    return [value for value in values if value is not None]
