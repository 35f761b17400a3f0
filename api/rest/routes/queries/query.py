"""``/api/v1/query`` and ``explain``: events as a stream of JSON lines, and the plan alone."""

from __future__ import annotations

from typing import Any

from flask import Response

from watchfloor.api.formats.stream_encoder import MEDIA_TYPES, NDJSON
from watchfloor.api.requests import read_query_request
from watchfloor.api.rest.answers.answer_stream import send_stream
from watchfloor.api.rest.answers.negotiation import FORMAT_PARAMETER, choose_encoder
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, TIME_TEXT, declare_object
from watchfloor.schema.choices import MAX_DEADLINE, PLANNERS, SCHEMES
from watchfloor.schema.stats.sort import MAX_ORDERS

MAX_FILTER = 262_144  # characters
TIME = {
    "description": TIME_TEXT,
    "anyOf": [{"type": "string", "minLength": 1, "maxLength": 100}, {"type": "number"}],
}
FILTER = {
    "description": "A filter as text, or as a tree in its JSON form",
    "anyOf": [{"type": "string", "maxLength": MAX_FILTER}, {"type": "object"}],
}
SORT = {
    "description": "Fields to sort by, instead of newest first: '-duration, ts', or a list of them; with a limit",
    "anyOf": [
        {"type": "string", "minLength": 1, "maxLength": 65_536},
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_ORDERS,
            "items": {"type": "string", "minLength": 1, "maxLength": 201},
        },
    ],
}
ONE_SOURCE = {"description": "A source's name", "type": "string", "minLength": 1, "maxLength": 200}
QUERY_BODY = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A Watchfloor query",
    **declare_object(
        {
            "source": {
                "description": "A source's name, names a,b, a pattern such as zeek.*, or * for all",
                "type": "string",
                "minLength": 1,
                "maxLength": 2000,
            }
        },
        {
            "since": TIME,
            "until": TIME,
            "where": FILTER,
            "columns": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2000,
                "uniqueItems": True,
                "items": {"type": "string", "minLength": 1, "maxLength": 200},
            },
            "own_columns": {
                "description": "each event as an object of its source's own fields, beside time and _source",
                "type": "boolean",
            },
            "sort": SORT,
            "limit": {"type": "integer", "minimum": 1, "maximum": 1_000_000_000},
            "deadline": {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_DEADLINE},
            "cursor": {"type": "string", "minLength": 1, "maxLength": 400},
            "watch": {"type": "boolean"},
            "ids": {"description": "the ID of each event as _id, for /api/v1/events/ID", "type": "boolean"},
            "scheme": {"enum": list(SCHEMES)},
            "w": {"type": "number", "minimum": 1, "maximum": 1_000_000},
            "planner": {"enum": list(PLANNERS)},
            "batching": {"type": "object"},
        },
    ),
}
SUMMARY = {
    "type": "object",
    "required": ["status", "rows"],
    "properties": {
        "status": {"enum": ["complete", "limit", "deadline", "failed", "cancelled"]},
        "rows": COUNT_ANSWER,
        "cursor": {"type": "string", "description": "with which the next request goes on, if there may be more"},
        "problem": {"type": "object", "required": ["type", "detail"], "description": "why the query failed"},
    },
    "if": {"properties": {"status": {"const": "failed"}}},
    "then": {"required": ["problem"]},
}
SUMMARY_LINE = declare_object({"summary": SUMMARY})
EVENT = {
    "type": "object",
    "description": "the event's fields, without those that are null; a number that JSON lacks, infinite, is null",
    "properties": {"_id": {"type": "string"}, "_source": {"type": "string"}},
    "additionalProperties": {"type": ["string", "number", "boolean", "array", "object", "null"]},
    "not": {"required": ["summary"], "maxProperties": 1},
}
QUERY_ANSWER_LINE = {"description": "An event, or on the last line the summary", "anyOf": [SUMMARY_LINE, EVENT]}
EXPLAIN_ANSWER = declare_object(
    {
        "plan": {"type": ["object", "null"], "description": "null if the query is of several sources"},
        "batching": declare_object(
            {
                "policy": {"type": "string"},
                "first": {"type": ["object", "null"], "description": "the first query batch"},
            }
        ),
        "text": {"type": "string", "description": "the plan for people"},
    },
    {
        "within": {"type": "array", "description": "the queries within the filter, which have run"},
        "sources": {"type": "object", "description": "the plan of each source that is read, by name"},
        "settled": {"type": "array", "description": "sources of which the counts say that nothing matches"},
        "not_reached": {"type": "array", "description": "sources that the query ended before it came to"},
        "left_out": {"type": "object", "description": "why a source does not fit the query, by name"},
    },
)


OTHER_FORMATS = tuple(media_type for media_type in MEDIA_TYPES.values() if media_type != NDJSON)
"""Media types of events and statistics beside that which the schemas describe."""


def run_query(call: Call) -> Response:
    """Returns the stream of a query's or watch's events, with its summary at the end."""
    members = dict(call.body)
    watch = members.pop("watch", False)
    encoder = choose_encoder(call, is_live=watch)
    request = call.context.bound_deadline(read_query_request(members), watch)
    if watch:
        return send_stream(call, "watch", lambda: call.service.watch(request), encoder)
    return send_stream(call, "query", lambda: call.service.run(request), encoder)


def explain_query(call: Call) -> dict[str, Any]:
    """Returns the explanation of a query. A watch is explained as the query that each of its polls runs."""
    members = {name: value for name, value in call.body.items() if name != "watch"}
    return call.service.explain(read_query_request(members)).to_json()


ROUTES = (
    Route(
        method="POST",
        path=f"{PREFIX}/query",
        summary="Events of one source or several, newest first or sorted, then a summary",
        handler=run_query,
        parameters=declare_object({}, FORMAT_PARAMETER),
        body=QUERY_BODY,
        answer=QUERY_ANSWER_LINE,
        answer_type=NDJSON,
        other_types=OTHER_FORMATS,
        holds_slot=False,
    ),
    Route(
        method="POST",
        path=f"{PREFIX}/explain",
        summary="The plan of a query, which is not run",
        handler=explain_query,
        body=QUERY_BODY,
        answer=EXPLAIN_ANSWER,
    ),
)
