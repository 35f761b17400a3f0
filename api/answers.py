"""The short answers (sources, counts, top values, timelines) as JSON; the command line prints the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from watchfloor.query.service import QueryService
from watchfloor.schema.choices import BUCKETS
from watchfloor.schema.errors import UnknownSourceError, UserError
from watchfloor.schema.source import Source
from watchfloor.schema.times import format_micros, to_micros

from .requests import time_range


def sources_answer(found: Mapping[str, Source]) -> dict[str, Any]:
    """All sources, by name."""
    return {"sources": [_outline(found[name]) for name in sorted(found)]}


def source_answer(found: Mapping[str, Source], name: str) -> dict[str, Any]:
    """One source with its definition; raises ``UnknownSourceError``."""
    if name not in found:
        raise UnknownSourceError(name, found)
    return {**_outline(found[name]), "definition": found[name].definition}


def count_answer(service: QueryService, asked: Mapping[str, Any]) -> dict[str, Any]:
    """``asked``: source, and perhaps since, until, field and value."""
    since, until = time_range(asked.get("since"), asked.get("until"))
    field, value = condition(asked)
    return {**_asked(asked, since, until), "count": service.count(asked["source"], since, until, field, value)}


def top_answer(service: QueryService, asked: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """``asked``: source, field, and perhaps since and until."""
    since, until = time_range(asked.get("since"), asked.get("until"))
    found = service.top(asked["source"], asked["field"], since, until, limit)
    return {**_asked(asked, since, until), "values": [{"value": shown(v), "count": n} for v, n in found]}


def timeline_answer(service: QueryService, asked: Mapping[str, Any]) -> dict[str, Any]:
    """``asked``: source, and perhaps since, until, bucket, field and value. Buckets without events are left out."""
    since, until = time_range(asked.get("since"), asked.get("until"))
    field, value = condition(asked)
    bucket = asked.get("bucket") or "hour"
    if bucket not in BUCKETS:
        raise UserError(f"unknown bucket {bucket!r}; known are {', '.join(BUCKETS)}")
    found = service.timeline(asked["source"], since, until, bucket, field, value)
    rows = [{"start": format_micros(start), "count": n} for start, n in found]
    return {**_asked(asked, since, until), "bucket": bucket, "buckets": rows}


def condition(asked: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Field and value, of which both or none must be given."""
    field, value = asked.get("field"), asked.get("value")
    if (field is None) != (value is None):
        raise UserError("field and value belong together: give both or none")
    return field, value


def shown(value: object) -> Any:
    """A value as JSON has it: times as ISO 8601, addresses as text."""
    if isinstance(value, datetime):
        return format_micros(to_micros(value))
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _asked(asked: Mapping[str, Any], since: int | None, until: int | None) -> dict[str, Any]:
    """What the answer is about: the request, times resolved."""
    about = {name: asked[name] for name in ("source", "field", "value") if asked.get(name) is not None}
    return {**about, **{k: format_micros(t) for k, t in (("since", since), ("until", until)) if t is not None}}


def _outline(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "title": source.title,
        "time_field": source.time_field,
        "fields": len(source.fields),
        "indexed": [f.name for f in source.indexed],
    }
