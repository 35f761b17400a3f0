"""``/api/v1/sources``: the sources of the store and their definitions."""

from __future__ import annotations

from typing import Any

from watchfloor.api.answers import answer_source, answer_sources
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, TEXT_PARAMETER, declare_list, declare_object

OUTLINE = {
    "name": {"type": "string"},
    "title": {"type": "string"},
    "time_field": {"type": "string"},
    "fields": {**COUNT_ANSWER, "description": "number of fields"},
    "indexed": declare_list({"type": "string"}),
}


def list_sources(call: Call) -> dict[str, Any]:
    return answer_sources(call.read_sources())


def show_source(call: Call) -> dict[str, Any]:
    return answer_source(call.read_sources(), call.parameters["name"])


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/sources",
        summary="All sources",
        handler=list_sources,
        parameters=declare_object({}),
        answer=declare_object({"sources": declare_list(declare_object(OUTLINE))}),
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/sources/<name>",
        summary="One source with its definition",
        handler=show_source,
        parameters=declare_object({"name": TEXT_PARAMETER}),
        answer=declare_object({**OUTLINE, "definition": {"type": "object"}}),
    ),
)
