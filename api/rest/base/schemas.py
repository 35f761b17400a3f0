"""Pieces of JSON Schema that several routes declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TIME_TEXT = "ISO 8601, a date, seconds since 1970, now, or relative (-4h)"
TIME_PARAMETER = {"type": "string", "description": TIME_TEXT}
TEXT_PARAMETER = {"type": "string"}
RANGE_PARAMETERS = {
    "since": {**TIME_PARAMETER, "description": f"from this time on: {TIME_TEXT}"},
    "until": {**TIME_PARAMETER, "description": f"up to and without this time: {TIME_TEXT}"},
}
FILTER_PARAMETER = {
    "where": {
        "type": "string",
        "minLength": 1,
        "maxLength": 65_536,
        "description": "only events that satisfy this filter",
    }
}
CONDITION_PARAMETERS = {
    **FILTER_PARAMETER,
    "field": {**TEXT_PARAMETER, "description": "only events in which this indexed field has ``value``"},
    "value": {**TEXT_PARAMETER, "description": "a value of ``field``"},
}
TIME_ANSWER = {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC with microseconds"}
COUNT_ANSWER = {"type": "integer", "minimum": 0}
ANY_VALUE = {"type": ["string", "integer", "number", "boolean", "null"]}
RANGE_ANSWER = {"since": TIME_ANSWER, "until": TIME_ANSWER}


def declare_object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the JSON Schema of an object with these members and no others."""
    return {
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": {**required, **(optional or {})},
    }


def declare_list(items: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JSON Schema of an array whose elements fit ``items``."""
    return {"type": "array", "items": items}
