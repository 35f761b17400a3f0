"""Builds the short answers (sources, counts, top values, timelines) as JSON values, for command line and REST."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import orjson
import pyarrow as pa

from watchfloor.query.completion import CompletionRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.query.texts.json_objects import encode_objects
from watchfloor.schema.choices import BUCKETS
from watchfloor.schema.errors import UnknownSourceError, UserError
from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.schema.times import format_micros, format_width, to_micros
from watchfloor.store.value_lists import StoredList

from .requests import parse_time_range


def answer_sources(sources: Mapping[str, Source]) -> dict[str, Any]:
    """Returns an outline of each source, ordered by name."""
    return {"sources": [_outline_source(sources[name]) for name in sorted(sources)]}


def answer_source(sources: Mapping[str, Source], name: str) -> dict[str, Any]:
    """Returns one source's outline, fields and definition. Raises ``UnknownSourceError``."""
    if name not in sources:
        raise UnknownSourceError(name, sources)
    source = sources[name]
    columns = [_describe_field(field) for field in source.fields]
    return {**_outline_source(source), "columns": columns, "definition": source.definition}


def answer_retention(keep: int | None, kept_from: int) -> dict[str, Any]:
    """Returns how long (µs) events are kept, None is for good, and the first time (µs) that is shown."""
    return {
        "keep": None if keep is None else format_width(keep),
        "kept_from": format_micros(kept_from) if kept_from else None,
    }


def outline_list(stored: StoredList) -> dict[str, Any]:
    """Returns what is known of a named list without its entries."""
    return {
        "name": stored.name,
        "type": stored.type,
        "values": stored.values,
        "networks": stored.networks,
        "version": format_micros(stored.version),
        "expires": None if stored.expires is None else format_micros(stored.expires),
        "label": stored.label,
        "state": "expired" if stored.is_expired(time.time_ns() // 1000) else "in force",
    }


def answer_count(service: QueryService, members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a count of events. ``members``: source; optional since, until, and where, or field with value."""
    since, until = parse_time_range(members.get("since"), members.get("until"))
    field, value = read_condition(members)
    if members.get("where") is None:
        count = service.count_events(members["source"], since, until, field, value)
    else:
        (row,) = _count_matching(service, members, since, until, {})
        count = row["count"]
    return {**_repeat_request(members, since, until), "count": count}


def answer_top(service: QueryService, members: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Returns the ``limit`` most frequent values, or with ``ascending`` the rarest.

    ``members``: source, field; optional since, until, ascending and where.
    """
    ascending = bool(members.get("ascending"))
    since, until = parse_time_range(members.get("since"), members.get("until"))
    if members.get("where") is None:
        counts = service.rank_values(members["source"], members["field"], since, until, limit, ascending)
    else:
        stages = [{"having": {"field": "value", "op": "exists"}}, {"sort": ["count" if ascending else "-count"]}]
        stages.append({"limit": limit})
        by = {"by": [{"field": members["field"], "as": "value"}], "stages": stages}
        counts = [(row["value"], row["count"]) for row in _count_matching(service, members, since, until, by)]
    values = [{"value": to_json_value(value), "count": count} for value, count in counts]
    return {**_repeat_request(members, since, until), "values": values}


def answer_timeline(service: QueryService, members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the buckets that have events, oldest first.

    ``members``: source; optional since, until, bucket, and where, or field with value.
    """
    since, until = parse_time_range(members.get("since"), members.get("until"))
    field, value = read_condition(members)
    bucket = members.get("bucket") or "hour"
    if bucket not in BUCKETS:
        raise UserError(f"unknown bucket {bucket!r}; known are {', '.join(BUCKETS)}")
    if members.get("where") is None:
        counts = service.count_over_time(members["source"], since, until, bucket, field, value)
    else:
        by = {"by": [{"bucket": f"1{bucket[0]}", "as": "start"}], "stages": [{"sort": ["start"]}]}
        found = _count_matching(service, members, since, until, by)
        counts = [(to_micros(row["start"]), row["count"]) for row in found]
    rows = [{"start": format_micros(start), "count": count} for start, count in counts]
    return {**_repeat_request(members, since, until), "bucket": bucket, "buckets": rows}


def _count_matching(
    service: QueryService, members: Mapping[str, Any], since: int | None, until: int | None, by: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Returns the rows of a count of the events that satisfy ``where``, by the keys and stages of ``by``."""
    if members.get("field") is not None and members.get("value") is not None:
        raise UserError("where takes the place of field and value: give one or the other")
    stats = {"aggregates": [{"function": "count"}], **by}
    query = StatsQuery(members["source"], stats, members["where"], since, until)
    rows: list[dict[str, Any]] = service.aggregate(query).to_pylist()
    return rows


def answer_find(service: QueryService, members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns where a value or a pattern of values occurs. ``members``: value; optional kind, sources, since, until."""
    since, until = parse_time_range(members.get("since"), members.get("until"))
    found = service.find_sightings(members["value"], members.get("kind"), since, until, members.get("sources") or "*")
    # All sightings share the hours: a value of sixty sources has ten thousand of them in a week.
    starts = {start: format_micros(start) for start in {hour for one in found.found for hour, _ in one.hours}}
    rows = [
        {
            "source": sighting.source,
            "field": sighting.field,
            "kind": sighting.kind,
            "count": sighting.count,
            "first": format_micros(sighting.first_hour),
            "last": format_micros(sighting.last_hour_end),
            "hours": [{"start": starts[start], "count": count} for start, count in sighting.hours],
        }
        for sighting in found.found
    ]
    return {
        **_repeat_request({"value": members["value"]}, since, until),
        "kinds": list(found.kinds),
        "sightings": rows,
        "not_looked_up": [asdict(missed) for missed in found.not_looked_up],
    }


def read_condition(members: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Returns the field and the value, or (None, None). Raises ``UserError`` if only one of them is given."""
    field, value = members.get("field"), members.get("value")
    if (field is None) != (value is None):
        raise UserError("field and value belong together: give both or none")
    return field, value


def to_json_value(value: object) -> Any:
    """Returns a field's value as a JSON value: times as ISO 8601, addresses as text."""
    if isinstance(value, datetime):
        return format_micros(to_micros(value))
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _repeat_request(members: Mapping[str, Any], since: int | None, until: int | None) -> dict[str, Any]:
    """Returns the members of the request that an answer repeats, with its times resolved."""
    about = {name: members[name] for name in ("source", "field", "value") if members.get(name) is not None}
    return {**about, **{k: format_micros(t) for k, t in (("since", since), ("until", until)) if t is not None}}


def answer_values(service: QueryService, members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns values that begin with a text. ``members``: source, field, prefix, limit; optional since, until."""
    since, until = parse_time_range(members.get("since"), members.get("until"))
    wanted = CompletionRequest(members["source"], members["field"], members["prefix"], members["limit"], since, until)
    found = service.complete_value(wanted)
    values = [{"value": to_json_value(value), "count": count} for value, count in found.values]
    return {**_repeat_request(members, since, until), "values": values, "complete": found.complete}


def answer_event(service: QueryService, members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an event with its neighbours. ``members``: id, newer, older."""
    found = service.find_event(members["id"], members["newer"], members["older"])
    newer, older = _list_events(found.newer), _list_events(found.older)
    return {"source": found.source.name, "event": _list_events(found.event)[0], "newer": newer, "older": older}


def _list_events(events: pa.Table) -> list[dict[str, Any]]:
    """Returns events as the objects that a query's answer has."""
    return [orjson.loads(line) for batch in events.to_batches() for line in encode_objects(batch).to_pylist()]


def _describe_field(field: Field) -> dict[str, Any]:
    """Returns what a client may know of a field. An index without ``from`` covers all events."""
    indexes = [
        {"kind": index.kind.value, **({"from": format_micros(index.covers_from)} if index.covers_from else {})}
        for index in field.indexes
    ]
    meaning = {name: text for name, text in (("ecs", field.ecs), ("kind", field.kind)) if text}
    return {"name": field.name, "type": field.type_name, **meaning, "indexes": indexes}


def _outline_source(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "title": source.title,
        "time_field": source.time_field,
        "fields": len(source.fields),
        "indexed": [f.name for f in source.indexed_fields],
    }
