"""``/api/v1/values``: values of a field that begin with a text, for completion."""

from __future__ import annotations

from typing import Any

from watchfloor.api.answers import answer_values
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import (
    ANY_VALUE,
    COUNT_ANSWER,
    RANGE_ANSWER,
    RANGE_PARAMETERS,
    TEXT_PARAMETER,
    declare_list,
    declare_object,
)

MAX_VALUES = 1000


def list_values(call: Call) -> dict[str, Any]:
    return answer_values(call.service, call.parameters)


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/values",
        summary="Values of a field that begin with a text, those of the most events first",
        handler=list_values,
        parameters=declare_object(
            {"source": TEXT_PARAMETER, "field": TEXT_PARAMETER},
            {
                "prefix": {"type": "string", "maxLength": 200, "default": "", "description": "without it, any values"},
                **RANGE_PARAMETERS,
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_VALUES, "default": 20},
            },
        ),
        answer=declare_object(
            {
                "source": {"type": "string"},
                "field": {"type": "string"},
                "values": declare_list(declare_object({"value": ANY_VALUE, "count": COUNT_ANSWER})),
                "complete": {"type": "boolean", "description": "false: only the newest events were looked at"},
            },
            RANGE_ANSWER,
        ),
    ),
)
