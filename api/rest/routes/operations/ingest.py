"""``/api/v1/ingest``: the work items of the ledger, their progress, and the lag, for operators."""

from __future__ import annotations

from typing import Any

from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, TIME_ANSWER, declare_list, declare_object
from watchfloor.ingest.records.ledger import STATES

MAX_ITEMS, DEFAULT_ITEMS = 10_000, 100
TOTALS = declare_object(
    {"items": COUNT_ANSWER, "bytes": COUNT_ANSWER, "events": COUNT_ANSWER, "quarantined": COUNT_ANSWER}
)
RATE = declare_object(
    {
        "seconds": {**COUNT_ANSWER, "description": "averaged over so many seconds before now"},
        "items": {**COUNT_ANSWER, "description": "items that were done in this time"},
        "bytes_per_second": {"type": "number", "minimum": 0},
        "events_per_second": {"type": "number", "minimum": 0},
    }
)
TEXT_OR_NULL, COUNT_OR_NULL = {"type": ["string", "null"]}, {"type": ["integer", "null"], "minimum": 0}
ITEM = declare_object(
    {
        "item": {**TEXT_OR_NULL, "description": "null for a file that was refused"},
        "state": {"enum": list(STATES)},
        "file": {"type": "string"},
        "start": COUNT_OR_NULL,
        "end": COUNT_OR_NULL,
        "feed": TEXT_OR_NULL,
        "events": COUNT_ANSWER,
        "quarantined": COUNT_ANSWER,
        "attempts": COUNT_ANSWER,
        "at": TIME_ANSWER,
        "by": {"type": "string"},
        "reason": TEXT_OR_NULL,
    }
)


def show_ingest(call: Call) -> dict[str, Any]:
    return call.records.summarize()


def list_items(call: Call) -> dict[str, Any]:
    state = call.parameters.get("state")
    return {"items": call.records.list_items(STATES if state is None else (state,), call.parameters["limit"])}


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/ingest",
        summary="Work items by state, what is left to read, and the rates of ingest",
        handler=show_ingest,
        parameters=declare_object({}),
        answer=declare_object(
            {
                "states": declare_object(dict.fromkeys(STATES, TOTALS)),
                "lag": declare_object(
                    {"items": COUNT_ANSWER, "bytes": COUNT_ANSWER},
                    {"waiting_since": {**TIME_ANSWER, "description": "when the oldest queued item was queued"}},
                ),
                "rates": declare_list(RATE),
            }
        ),
        role="operator",
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/ingest/items",
        summary="Work items, the one that changed last first",
        handler=list_items,
        parameters=declare_object(
            {},
            {
                "state": {"enum": list(STATES), "description": "only items in this state"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ITEMS, "default": DEFAULT_ITEMS},
            },
        ),
        answer=declare_object({"items": declare_list(ITEM)}),
        role="operator",
    ),
)
