"""``/api/v1/lists``: named lists of values. Analysts read them; operators put and remove them."""

from __future__ import annotations

import time
from typing import Any

from watchfloor.api.answers import outline_list
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, TEXT_PARAMETER, TIME_ANSWER, declare_list, declare_object
from watchfloor.schema.choices import LIST_TYPES
from watchfloor.schema.lists.list_file import ListFormat, read_list
from watchfloor.schema.times import parse_duration

MAX_ENTRIES, DEFAULT_ENTRIES = 10_000, 1_000
OUTLINE = {
    "name": {"type": "string"},
    "type": {"enum": list(LIST_TYPES)},
    "values": {**COUNT_ANSWER, "description": "number of values without networks"},
    "networks": {**COUNT_ANSWER, "description": "number of networks"},
    "version": {**TIME_ANSWER, "description": "when it was put"},
    "expires": {"anyOf": [TIME_ANSWER, {"type": "null"}]},
    "label": {"type": "string", "description": "who sees it; empty: all"},
    "state": {"enum": ["in force", "expired"]},
}
COLUMN = {"type": "string", "minLength": 1, "maxLength": 200}
NAME_PARAMETERS = declare_object({"name": TEXT_PARAMETER})
PUT_BODY = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The values of a list",
    **declare_object(
        {"text": {"type": "string", "description": "a value a line, or CSV"}},
        {
            "type": {"enum": list(LIST_TYPES), "description": "default: as the first value"},
            "column": {**COLUMN, "description": "CSV: the column of the values, by number or by name in line 1"},
            "comment": {**COLUMN, "description": "CSV: the column of comments, likewise"},
            "label": {"type": "string", "maxLength": 1000, "description": "who sees it; default: as before"},
            "expires": {"type": "string", "minLength": 1, "maxLength": 100, "description": "a duration: 30d"},
            "skip_bad": {"type": "boolean", "description": "leave bad lines out; otherwise one refuses the list"},
        },
    ),
}


def show_lists(call: Call) -> dict[str, Any]:
    return {"lists": [outline_list(stored) for stored in call.service.outline_lists()]}


def show_list(call: Call) -> dict[str, Any]:
    stored, entries = call.service.read_list(call.parameters["name"], call.parameters["limit"])
    return {**outline_list(stored), "entries": [vars(entry) for entry in entries]}


def put_list(call: Call) -> dict[str, Any]:
    members = dict(call.body)
    text, label, duration = members.pop("text"), members.pop("label", None), members.pop("expires", None)
    values = read_list(text.encode("utf-8", "surrogatepass"), ListFormat(**members))
    expires = None if duration is None else time.time_ns() // 1000 + parse_duration(duration)
    stored = call.context.services.put_list(call.grant, call.parameters["name"], values, label, expires)
    return {**outline_list(stored), "skipped": values.skipped}


def remove_list(call: Call) -> dict[str, Any]:
    call.context.services.remove_list(call.grant, call.parameters["name"])
    return {"removed": call.parameters["name"]}


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/lists",
        summary="All named lists",
        handler=show_lists,
        parameters=declare_object({}),
        answer=declare_object({"lists": declare_list(declare_object(OUTLINE))}),
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/lists/<name>",
        summary="One list with its first entries",
        handler=show_list,
        parameters=declare_object(
            {"name": TEXT_PARAMETER},
            {"limit": {"type": "integer", "minimum": 1, "maximum": MAX_ENTRIES, "default": DEFAULT_ENTRIES}},
        ),
        answer=declare_object(
            {
                **OUTLINE,
                "entries": declare_list(declare_object({"entry": {"type": "string"}, "comment": {"type": "string"}})),
            }
        ),
    ),
    Route(
        method="PUT",
        path=f"{PREFIX}/lists/<name>",
        summary="Stores a list, or a new version of it",
        handler=put_list,
        parameters=NAME_PARAMETERS,
        body=PUT_BODY,
        answer=declare_object({**OUTLINE, "skipped": {**COUNT_ANSWER, "description": "bad lines that were left out"}}),
        role="operator",
    ),
    Route(
        method="DELETE",
        path=f"{PREFIX}/lists/<name>",
        summary="Removes a list with all its versions",
        handler=remove_list,
        parameters=NAME_PARAMETERS,
        answer=declare_object({"removed": {"type": "string"}}),
        role="operator",
    ),
)
