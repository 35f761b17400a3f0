"""Warms a service up before it says that it is ready, by questions such as people ask.

In the first queries after a start the JVMs of the service and of the servers load and compile code, connections are
opened, tablets are located, and the catalog and the first blocks are read.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from watchfloor.api.answers import to_json_value
from watchfloor.api.formats.stream_encoder import StreamEncoder
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.json_form import from_json
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.source import Source
from watchfloor.schema.stats import json_form as stats_form
from watchfloor.schema.stats import print as print_stats
from watchfloor.schema.times import to_micros

WARM_UP_SECONDS = 3.0
"""The longest time that a start waits for it."""
_MOST_SOURCES, _MOST_FIELDS, _ROUNDS = 4, 3, 8
_PAGE_ROWS = 100
_COUNTED = 3600 * 10**6
"""Microseconds, up to the newest event, of which events are counted."""
_COMPARED = (FieldType.STRING, FieldType.INT, FieldType.IP)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _FoundSource:
    """A source with its newest events."""

    source: Source
    page: pa.Table


def warm_up(service: QueryService, sources: Mapping[str, Source], seconds: float = WARM_UP_SECONDS) -> int:
    """Asks questions of the sources that have events, again and again, for ``seconds`` at most.

    Returns the number of questions that were answered. An error ends it, and is told by the queries that meet it.
    """
    answered, until = 0, time.monotonic() + seconds
    try:
        found = list(_find_sources(service, sources, until))
        for _ in range(_ROUNDS):
            for one in found:
                for question in _list_questions(service, one):
                    if (left := until - time.monotonic()) <= 0:
                        return answered
                    question(left)
                    answered += 1
    except WatchfloorError as error:
        log.info("the warm-up has ended early: %s", error)
    return answered


def _find_sources(service: QueryService, sources: Mapping[str, Source], until: float) -> Iterator[_FoundSource]:
    """Yields sources that have events. All are asked for their newest ones, in half of the time."""
    begin, found = time.monotonic(), 0
    for source in sources.values():
        now = time.monotonic()
        if now >= begin + (until - begin) / 2:
            return
        batches = _read_page(service, QueryRequest(source.name, limit=_PAGE_ROWS), until - now)
        if batches and found < _MOST_SOURCES:
            found += 1
            yield _FoundSource(source, pa.Table.from_batches(batches))


def _list_questions(service: QueryService, found: _FoundSource) -> Iterator[Callable[[float], object]]:
    """Yields functions that ask one question each, and take the seconds after which it ends."""
    name, indexed = found.source.name, found.source.indexed_fields
    for where in (None, *_list_filters(found)):
        request = QueryRequest(name, where=where, limit=_PAGE_ROWS)
        yield partial(_read_page, service, request)
    newest = to_micros(found.page.column(found.source.time_field)[0].as_py())
    by = {"field": indexed[0].name} if indexed else {"bucket": "1m", "as": "start"}
    stats = print_stats.to_text(stats_form.from_json({"aggregates": [{"function": "count"}], "by": [by]}))
    query = StatsQuery(name, stats, since=newest - _COUNTED)
    yield lambda left: list(service.run_stats(replace(query, deadline=left)))


def _list_filters(found: _FoundSource) -> Iterator[str]:
    """Yields filters of the kinds that are answered in different ways: by the index, by counts, by reading all.

    They are texts, as people write them: the first one that is parsed builds the parser.
    """
    return (to_text(from_json(form)) for form in _list_forms(found))


def _list_forms(found: _FoundSource) -> Iterator[Mapping[str, Any]]:
    fields, page = found.source.fields, found.page
    for field in found.source.indexed_fields[:_MOST_FIELDS]:
        known = page.column(field.name).drop_null().slice(0, 1).to_pylist()
        if field.type in _COMPARED and known:
            equal = {"field": field.name, "op": "=", "value": to_json_value(known[0])}
            yield equal
            yield {"not": equal}
    texts = [field.name for field in fields if field.type is FieldType.STRING]
    for text in texts[:1]:
        yield {"field": text, "op": "=", "value": "\x00 no such text"}
    for text in texts[-1:]:
        yield {"field": text, "op": "contains", "value": "e"}
        yield {"field": text, "op": "~", "value": "[a-e]+[0-9]"}


def _read_page(service: QueryService, request: QueryRequest, seconds: float) -> list[pa.RecordBatch]:
    """Returns the batches of a query, which are encoded as an answer's are."""
    encoder = StreamEncoder("ndjson")
    batches: list[pa.RecordBatch] = []
    result = service.run(replace(request, deadline=seconds))
    try:
        for batch in result:
            encoder.encode(batch)
            batches += [batch] if len(batch) else []
    finally:
        result.close()
    encoder.finish(result.summary, result.schema)
    return batches
