"""``/api/v1/events``: one event by its ID, with its neighbours in time."""

from __future__ import annotations

from typing import Any

from watchfloor.api.answers import answer_event
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import TEXT_PARAMETER, declare_list, declare_object

MAX_NEIGHBOURS = 200
NUMBER = {"type": "integer", "minimum": 0, "maximum": MAX_NEIGHBOURS, "default": 0}
EVENT = {
    "type": "object",
    "required": ["_id"],
    "properties": {"_id": {"type": "string"}},
    "description": "its fields, without those that are null, and its ID",
}


def show_event(call: Call) -> dict[str, Any]:
    return answer_event(call.service, call.parameters)


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/events/<id>",
        summary="One event by its ID, with the events of its source next to it in time",
        handler=show_event,
        parameters=declare_object(
            {"id": {**TEXT_PARAMETER, "description": "as a query with ids gave it"}},
            {
                "newer": {**NUMBER, "description": "so many events after it"},
                "older": {**NUMBER, "description": "so many events before it"},
            },
        ),
        answer=declare_object(
            {
                "source": {"type": "string"},
                "event": EVENT,
                "newer": {**declare_list(EVENT), "description": "newest first"},
                "older": {**declare_list(EVENT), "description": "newest first"},
            }
        ),
    ),
)
