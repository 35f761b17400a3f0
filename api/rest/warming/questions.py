"""The questions of a warm-up: of the kinds that people ask, each about values that the source's newest events have.

The first filter of its kind takes a way of its own: it is parsed, planned, and the index is asked about its values,
where one that was asked before is known. So each round asks about other values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

from watchfloor.api.rest.base.route import PREFIX
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.json_form import from_json
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.source import Source
from watchfloor.schema.stats import json_form as stats_form
from watchfloor.schema.stats import print as print_stats
from watchfloor.schema.times import format_micros, parse_time

QUERY_PATH, STATS_PATH = f"{PREFIX}/query", f"{PREFIX}/stats"
PATHS = (QUERY_PATH, STATS_PATH)
"""The paths of all questions."""
PAGE_ROWS = 100
_COUNTED_ROUNDS = 3
"""Of so many rounds one asks for counts, which take long."""
_COUNTED = 3600 * 10**6
"""Microseconds, up to the newest event, of which events are counted."""
_COMPARED = (FieldType.STRING, FieldType.INT, FieldType.IP)
_NUMBERS = (FieldType.INT, FieldType.FLOAT)
Event = Mapping[str, Any]
Form = Mapping[str, Any]


@dataclass(frozen=True)
class WarmUpQuestion:
    """A request to the service: the path and the JSON body."""

    path: str
    body: Mapping[str, Any]


def ask_newest(source: Source) -> WarmUpQuestion:
    """Returns the question for a page of a source's newest events."""
    return WarmUpQuestion(QUERY_PATH, {"source": source.name, "limit": PAGE_ROWS})


def list_questions(source: Source, newest: Sequence[Event], number: int) -> Iterator[WarmUpQuestion]:
    """Yields the questions of round ``number`` about a source, of which ``newest`` are events as JSON, newest first."""
    page = ask_newest(source)
    yield page
    for form in _list_forms(source, newest, number):
        # People write texts, and the first text that is parsed builds the parser.
        yield WarmUpQuestion(page.path, {**page.body, "where": to_text(from_json(form))})
    if number % _COUNTED_ROUNDS == 1:
        yield _count_values(source, newest)


def _count_values(source: Source, newest: Sequence[Event]) -> WarmUpQuestion:
    by = {"field": source.indexed_fields[0].name} if source.indexed_fields else {"bucket": "1m", "as": "start"}
    stats = print_stats.to_text(stats_form.from_json({"aggregates": [{"function": "count"}], "by": [by]}))
    since = parse_time(newest[0][source.time_field], now=0) - _COUNTED
    return WarmUpQuestion(STATS_PATH, {"source": source.name, "stats": stats, "since": format_micros(max(0, since))})


def _list_forms(source: Source, newest: Sequence[Event], number: int) -> Iterator[Form]:
    """Yields filters of the kinds that are answered in different ways: by the index, by counts, by reading all."""
    equals = list(_list_equals(source, newest, number))
    yield from equals
    yield from ({"not": equal} for equal in equals[:1])
    if len(equals) > 1:
        yield {"and": equals[:2]}
    texts = [field for field in source.fields if field.type is FieldType.STRING]
    for field in texts[:1]:
        yield {"field": field.name, "op": "=", "value": f"\x00 no such text {number}"}
    large = list(_list_large(source, newest, number))
    yield from large[:1]
    for field in texts[-1:]:
        yield from _list_patterns(field, newest, number, large[-1:])
    yield from _list_networks(source, newest, number)


def _list_equals(source: Source, newest: Sequence[Event], number: int) -> Iterator[Form]:
    """Yields equalities with values of indexed fields: two of fields with many values, which the index finds, and one
    of a field with few, which is read until there are enough.
    """
    counts = {field: Counter(_list_values(field, newest)) for field in source.indexed_fields if field.type in _COMPARED}
    fields = sorted((field for field in counts if counts[field]), key=lambda field: -len(counts[field]))
    half = (len(fields) + 1) // 2
    for some, places in ((fields[:half], (2 * number, 2 * number + 1)), (fields[half:], (number,))):
        for place in places[: len(some)]:
            field = some[place % len(some)]
            values = counts[field].most_common()
            yield {"field": field.name, "op": "=", "value": values[~(place // len(some)) % len(values)][0]}


def _list_patterns(field: Field, newest: Sequence[Event], number: int, large: Sequence[Form]) -> Iterator[Form]:
    """Yields filters about a part of a text, the first together with those of ``large``."""
    for value in filter(None, _list_values(field, newest)[number % len(newest) :][:1]):
        character = value[number % len(value)]
        yield {"and": [{"field": field.name, "op": "contains", "value": character}, *large]}
        yield {"field": field.name, "op": "~", "value": f"[a-z]*{re.escape(character)}"}


def _list_large(source: Source, newest: Sequence[Event], number: int) -> Iterator[Form]:
    """Yields comparisons of numbers that few of the newest events satisfy."""
    for field in source.fields:
        if field.type in _NUMBERS and (values := _list_values(field, newest)):
            yield {"field": field.name, "op": ">", "value": sorted(values)[-1 - (1 + number) % min(8, len(values))]}


def _list_networks(source: Source, newest: Sequence[Event], number: int) -> Iterator[Form]:
    """Yields a network of an address of the first field that has some."""
    for field in source.fields:
        if field.type is FieldType.IP and (values := _list_values(field, newest)):
            address = ip_address(values[number % len(values)])
            network = ip_network((address, 24 if address.version == 4 else 64), strict=False)
            yield {"field": field.name, "op": "in", "value": str(network)}
            return


def _list_values(field: Field, newest: Sequence[Event]) -> list[Any]:
    """Returns the values of a field, those of the newest events first."""
    return [event[field.name] for event in newest if event.get(field.name) is not None]
