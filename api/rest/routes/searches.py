"""``/api/v1/searches``: searches that a token's holder has saved by name."""

from __future__ import annotations

from typing import Any

from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import TIME_ANSWER, declare_list, declare_object
from watchfloor.schema.times import format_micros
from watchfloor.store.saved.searches import SavedSearch

from .queries.query import QUERY_BODY
from .queries.stats import STATS_BODY

NAME = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": "^[^/\\u0000-\\u001f\\u007f]+$(?!\\n)",
    "description": "the search's name, without / and control characters",
}
MEMBERS = ("source", "since", "until", "where", "columns", "sort")
SEARCH = declare_object(
    {},
    {
        **{name: QUERY_BODY["properties"][name] for name in MEMBERS},
        "stats": STATS_BODY["properties"]["stats"],
        "note": {"type": "string", "maxLength": 2000, "description": "what it is for"},
        "view": {"type": "object", "description": "what a page keeps of how it shows the search"},
    },
)
SAVED = declare_object({"name": {"type": "string"}, "saved": TIME_ANSWER, "search": {"type": "object"}})
PARAMETERS = declare_object({"name": NAME})


def list_searches(call: Call) -> dict[str, Any]:
    return {"searches": [_describe(saved) for saved in call.context.services.read_searches(call.token_name)]}


def show_search(call: Call) -> dict[str, Any]:
    return _describe(call.context.services.find_search(call.token_name, call.parameters["name"]))


def put_search(call: Call) -> dict[str, Any]:
    return _describe(call.context.services.put_search(call.token_name, call.parameters["name"], call.body))


def remove_search(call: Call) -> dict[str, Any]:
    call.context.services.remove_search(call.token_name, call.parameters["name"])
    return {"removed": call.parameters["name"]}


def _describe(saved: SavedSearch) -> dict[str, Any]:
    return {"name": saved.name, "saved": format_micros(saved.saved), "search": saved.search}


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/searches",
        summary="The searches that this token's holder has saved",
        handler=list_searches,
        parameters=declare_object({}),
        answer=declare_object({"searches": declare_list(SAVED)}),
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/searches/<name>",
        summary="One saved search",
        handler=show_search,
        parameters=PARAMETERS,
        answer=SAVED,
    ),
    Route(
        method="PUT",
        path=f"{PREFIX}/searches/<name>",
        summary="Saves a search, in the place of one of the same name",
        handler=put_search,
        parameters=PARAMETERS,
        body={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A search to save",
            **SEARCH,
        },
        answer=SAVED,
    ),
    Route(
        method="DELETE",
        path=f"{PREFIX}/searches/<name>",
        summary="Removes a saved search",
        handler=remove_search,
        parameters=PARAMETERS,
        answer=declare_object({"removed": {"type": "string"}}),
    ),
)
