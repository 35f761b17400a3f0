"""``/api/v1/sources``: the sources of the store and their definitions."""

from __future__ import annotations

from typing import Any

from watchfloor.api.answers import answer_retention, answer_source, answer_sources
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, TEXT_PARAMETER, TIME_ANSWER, declare_list, declare_object
from watchfloor.schema.field import IndexKind
from watchfloor.schema.meaning.ecs import KINDS

OUTLINE = {
    "name": {"type": "string"},
    "title": {"type": "string"},
    "time_field": {"type": "string"},
    "fields": {**COUNT_ANSWER, "description": "number of fields"},
    "indexed": declare_list({"type": "string"}),
}
INDEX = declare_object(
    {"kind": {"enum": [kind.value for kind in IndexKind]}},
    {"from": {**TIME_ANSWER, "description": "the index has the events from then on; without it, all events"}},
)
FIELD = declare_object(
    {
        "name": {"type": "string"},
        "type": {"type": "string", "description": "int, list of string, …"},
        "indexes": declare_list(INDEX),
    },
    {
        "ecs": {"type": "string", "description": "the name in the Elastic Common Schema"},
        "kind": {"enum": list(KINDS), "description": "what the values are"},
    },
)
RETENTION = declare_object(
    {
        "keep": {"type": ["string", "null"], "description": "how long events are kept: 90d; null for good"},
        "kept_from": {**TIME_ANSWER, "type": ["string", "null"], "description": "no answer has an event before"},
    }
)


def list_sources(call: Call) -> dict[str, Any]:
    return answer_sources(call.read_sources())


def show_source(call: Call) -> dict[str, Any]:
    name = call.parameters["name"]
    answer = answer_source(call.read_sources(), name)
    return {**answer, "retention": answer_retention(*call.service.find_retention(name))}


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
        summary="One source with its fields and its definition",
        handler=show_source,
        parameters=declare_object({"name": TEXT_PARAMETER}),
        answer=declare_object(
            {**OUTLINE, "columns": declare_list(FIELD), "definition": {"type": "object"}, "retention": RETENTION}
        ),
    ),
)
