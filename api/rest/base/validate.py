"""What requests say: JSON bodies and query parameters, checked before anything else looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema
import orjson
from flask import Request

from watchfloor.schema.choices import MAX_DEADLINE, PLANNERS, SCHEMES
from watchfloor.schema.shorten import shorten

from .problems import Problem

MAX_BODY = 1 << 20  # bytes; a filter with some thousands of values fits
_TIME = {
    "description": "ISO 8601, a date, seconds since 1970, now, or relative (-4h)",
    "anyOf": [{"type": "string", "minLength": 1, "maxLength": 100}, {"type": "number"}],
}
QUERY_SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A Watchfloor query",
    "type": "object",
    "required": ["source"],
    "additionalProperties": False,
    "properties": {
        "source": {"type": "string", "minLength": 1, "maxLength": 100},
        "since": _TIME,
        "until": _TIME,
        "where": {
            "description": "A filter as text, or as a tree in its JSON form",
            "anyOf": [{"type": "string", "maxLength": 262_144}, {"type": "object"}],
        },
        "columns": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2000,
            "uniqueItems": True,
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 1_000_000_000},
        "deadline": {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_DEADLINE},
        "cursor": {"type": "string", "minLength": 1, "maxLength": 200},
        "watch": {"type": "boolean"},
        "scheme": {"enum": list(SCHEMES)},
        "w": {"type": "number", "minimum": 1, "maximum": 1_000_000},
        "planner": {"enum": list(PLANNERS)},
        "batching": {"type": "object"},
    },
}


def read_query(request: Request) -> dict[str, Any]:
    """The body of a query; raises ``Problem``."""
    if not request.is_json:
        raise Problem("unsupported-media-type", "send the query as JSON with Content-Type: application/json")
    try:
        body = orjson.loads(request.get_data(cache=False))
    except orjson.JSONDecodeError as error:
        raise Problem("bad-body", f"the body is not JSON: {error}", {"errors": []}) from None
    errors = [
        {"pointer": "".join(f"/{part}" for part in e.absolute_path), "detail": _said(e)}
        for e in sorted(_validator().iter_errors(body), key=lambda e: list(map(str, e.absolute_path)))
    ]
    if errors:
        first = errors[0]
        raise Problem("bad-body", f"{first['pointer'] or 'the body'}: {first['detail']}", {"errors": errors[:20]})
    assert isinstance(body, dict)
    return body


def read_parameters(request: Request, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, str]:
    """The query parameters; raises ``Problem`` for a missing, unknown or repeated one."""
    known = (*required, *optional)
    for name in request.args:
        if name not in known:
            raise Problem("bad-parameter", f"unknown parameter {name!r}; known are {', '.join(known)}")
        if len(request.args.getlist(name)) > 1:
            raise Problem("bad-parameter", f"the parameter {name!r} is given more than once")
    for name in required:
        if not request.args.get(name):
            raise Problem("bad-parameter", f"the parameter {name!r} is missing")
    return {name: value for name, value in request.args.items() if value}


def number(parameters: Mapping[str, str], name: str, default: int, most: int) -> int:
    """An integer from 1 to ``most``; raises ``Problem``."""
    text = parameters.get(name, str(default))
    value = int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
    if not 1 <= value <= most:
        raise Problem("bad-parameter", f"the parameter {name!r} must be a whole number from 1 to {most:,}")
    return value


def _said(error: jsonschema.ValidationError) -> str:
    """The message, without a large value that it may quote."""
    return shorten(error.message, 301)


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(QUERY_SCHEMA)
