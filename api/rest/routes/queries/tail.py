"""``/api/v1/tail``: events as they arrive, by server-sent events, for browsers."""

from __future__ import annotations

from flask import Response

from watchfloor.api.formats.stream_encoder import EVENT_STREAM, StreamEncoder
from watchfloor.api.requests import read_query_request
from watchfloor.api.rest.answers.answer_stream import send_stream
from watchfloor.api.rest.base.route import JSON, PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import FILTER_PARAMETER, TIME_PARAMETER, declare_object
from watchfloor.schema.choices import MAX_DEADLINE

from .query import EVENT, QUERY_BODY, SUMMARY

PARAMETERS = declare_object(
    {"source": QUERY_BODY["properties"]["source"]},
    {
        **FILTER_PARAMETER,
        "columns": {"type": "string", "minLength": 1, "maxLength": 20_000, "description": "fields, joined by commas"},
        "since": {**TIME_PARAMETER, "description": "from this time on; default: five minutes ago"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 1_000_000_000},
        "deadline": {"type": "integer", "minimum": 1, "maximum": MAX_DEADLINE, "description": "seconds"},
    },
)
MESSAGE = declare_object(
    {
        "data": {
            "type": "string",
            "contentMediaType": JSON,
            "contentSchema": {"anyOf": [EVENT, SUMMARY]},
            "description": "an event, or the summary",
        }
    },
    {
        "id": {"type": "string", "description": "of the event"},
        "event": {"enum": ["message", "summary"], "default": "message"},
    },
)


def tail_events(call: Call) -> Response:
    """Returns the stream of a watch. Each of its events has its ID, and the last one is the summary."""
    members = dict(call.parameters)
    if "columns" in members:
        members["columns"] = members["columns"].split(",")
    request = call.context.bound_deadline(read_query_request({**members, "ids": True}), is_watch=True)
    return send_stream(call, "watch", lambda: call.service.watch(request), StreamEncoder("sse"))


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/tail",
        summary="Events as they arrive, as server-sent events",
        handler=tail_events,
        parameters=PARAMETERS,
        answer=MESSAGE,
        answer_type=EVENT_STREAM,
        holds_slot=False,
    ),
)
