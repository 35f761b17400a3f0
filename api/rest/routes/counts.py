"""``/api/v1/count``, ``top``, ``timeline`` and ``find``: answers from counts, without reading events."""

from __future__ import annotations

from typing import Any

from watchfloor.api.answers import answer_count, answer_find, answer_timeline, answer_top
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import (
    ANY_VALUE,
    CONDITION_PARAMETERS,
    COUNT_ANSWER,
    FILTER_PARAMETER,
    RANGE_ANSWER,
    RANGE_PARAMETERS,
    TEXT_PARAMETER,
    TIME_ANSWER,
    declare_list,
    declare_object,
)
from watchfloor.schema.choices import BUCKETS
from watchfloor.schema.meaning.ecs import KINDS

MAX_TOP_VALUES = 10_000
NAME = {"type": "string"}
SIGHTING = declare_object(
    {
        "source": NAME,
        "field": NAME,
        "kind": {"enum": list(KINDS)},
        "count": COUNT_ANSWER,
        "first": TIME_ANSWER,
        "last": TIME_ANSWER,
        "hours": declare_list(declare_object({"start": TIME_ANSWER, "count": COUNT_ANSWER})),
    }
)


def count_events(call: Call) -> dict[str, Any]:
    return answer_count(call.service, call.parameters)


def list_top_values(call: Call) -> dict[str, Any]:
    return answer_top(call.service, call.parameters, call.parameters["limit"])


def show_timeline(call: Call) -> dict[str, Any]:
    return answer_timeline(call.service, call.parameters)


def find_value(call: Call) -> dict[str, Any]:
    return answer_find(call.service, call.parameters)


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/find",
        summary="Where a value occurs: in which sources and fields, how often and when",
        handler=find_value,
        parameters=declare_object(
            {"value": TEXT_PARAMETER}, {"kind": {"enum": list(KINDS)}, "sources": TEXT_PARAMETER, **RANGE_PARAMETERS}
        ),
        answer=declare_object(
            {
                "value": {"type": "string"},
                "kinds": declare_list({"enum": list(KINDS)}),
                "sightings": declare_list(SIGHTING),
                "not_looked_up": declare_list(declare_object({"source": NAME, "field": NAME, "reason": NAME})),
            },
            RANGE_ANSWER,
        ),
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/count",
        summary="How many events a source has, or how many have a value",
        handler=count_events,
        parameters=declare_object({"source": TEXT_PARAMETER}, {**RANGE_PARAMETERS, **CONDITION_PARAMETERS}),
        answer=declare_object(
            {"source": {"type": "string"}, "count": COUNT_ANSWER},
            {"field": {"type": "string"}, "value": {"type": "string"}, **RANGE_ANSWER},
        ),
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/top",
        summary="The most frequent values of a field, indexed if there is no filter",
        handler=list_top_values,
        parameters=declare_object(
            {"source": TEXT_PARAMETER, "field": TEXT_PARAMETER},
            {
                **RANGE_PARAMETERS,
                **FILTER_PARAMETER,
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_TOP_VALUES, "default": 10},
                "ascending": {"type": "boolean", "default": False, "description": "the rarest values instead"},
            },
        ),
        answer=declare_object(
            {
                "source": {"type": "string"},
                "field": {"type": "string"},
                "values": declare_list(declare_object({"value": ANY_VALUE, "count": COUNT_ANSWER})),
            },
            RANGE_ANSWER,
        ),
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/timeline",
        summary="Events per minute, hour or day, oldest first, without empty buckets",
        handler=show_timeline,
        parameters=declare_object(
            {"source": TEXT_PARAMETER},
            {**RANGE_PARAMETERS, "bucket": {"enum": list(BUCKETS), "default": "hour"}, **CONDITION_PARAMETERS},
        ),
        answer=declare_object(
            {
                "source": {"type": "string"},
                "bucket": {"enum": list(BUCKETS)},
                "buckets": declare_list(declare_object({"start": TIME_ANSWER, "count": COUNT_ANSWER})),
            },
            {"field": {"type": "string"}, "value": {"type": "string"}, **RANGE_ANSWER},
        ),
    ),
)
