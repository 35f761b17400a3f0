"""``/api/v1/stats``: statistics of the events that match a filter, by groups, as a stream of JSON lines."""

from __future__ import annotations

from typing import Any

from flask import Response

from watchfloor.api.formats.stream_encoder import NDJSON
from watchfloor.api.requests import read_stats_query
from watchfloor.api.rest.answers.answer_stream import send_stream
from watchfloor.api.rest.answers.negotiation import FORMAT_PARAMETER, choose_encoder
from watchfloor.api.rest.base.problems import Problem
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import declare_list, declare_object
from watchfloor.api.results import StreamedResult
from watchfloor.api.stats_stream import StatsRows, StatsStream
from watchfloor.schema.choices import MAX_DEADLINE, SCHEMES

from .query import FILTER, ONE_SOURCE, OTHER_FORMATS, SUMMARY_LINE, TIME

STATS_MEMBERS = {
    "since": TIME,
    "until": TIME,
    "where": FILTER,
    "deadline": {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_DEADLINE},
    "scheme": {"enum": list(SCHEMES)},
    "partial": {"description": "whether answers to the newest part of the range come before", "type": "boolean"},
}
STATS_BODY = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A Watchfloor aggregation",
    **declare_object(
        {
            "source": ONE_SOURCE,
            "stats": {
                "description": "A pipe such as: count() by domain | sort -count | limit 10; or its JSON form",
                "anyOf": [{"type": "string", "minLength": 1, "maxLength": 65_536}, {"type": "object"}],
            },
        },
        STATS_MEMBERS,
    ),
}
STATS_ANSWER_LINE = {
    "description": "Rows of an answer so far, or on the last line the summary",
    "anyOf": [
        SUMMARY_LINE,
        declare_object(
            {
                "part": {"type": "integer", "description": "a later part replaces an earlier one"},
                "share": {"type": "number", "description": "share of the time range, its newest end, that it covers"},
                "complete": {"type": "boolean", "description": "true in the last record of the whole answer"},
                "rows": declare_list({"type": "object"}),
            }
        ),
    ],
}
STATS_EXPLANATION = declare_object(
    {
        "from": {"enum": ["counts", "index", "scan"]},
        "plan": {"type": ["object", "null"], "description": "null if counts alone answer"},
        "text": {"type": "string", "description": "the plan for people"},
    }
)


def run_stats(call: Call) -> Response:
    """Returns the stream of an aggregation's answers, with its summary at the end."""
    members = dict(call.body)
    partial, encoder = members.pop("partial", False), choose_encoder(call)
    if partial and encoder.form != "ndjson":
        raise Problem(
            "bad-request", f"partial answers replace each other, which {encoder.form} cannot say; ask for ndjson"
        )
    query = call.context.bound_deadline(read_stats_query(members))

    def begin() -> StreamedResult:
        running = call.service.run_stats(query)
        return StatsStream(running, partial=partial) if encoder.form == "ndjson" else StatsRows(running)

    return send_stream(call, "stats", begin, encoder)


def explain_stats(call: Call) -> dict[str, Any]:
    """Returns how an aggregation would be computed."""
    members = {name: value for name, value in call.body.items() if name != "partial"}
    return call.service.explain_stats(read_stats_query(members))


ROUTES = (
    Route(
        method="POST",
        path=f"{PREFIX}/stats",
        summary="Statistics of matching events by groups, the newest part first, then a summary",
        handler=run_stats,
        parameters=declare_object({}, FORMAT_PARAMETER),
        body=STATS_BODY,
        answer=STATS_ANSWER_LINE,
        answer_type=NDJSON,
        other_types=OTHER_FORMATS,
        holds_slot=False,
    ),
    Route(
        method="POST",
        path=f"{PREFIX}/stats/explain",
        summary="Where an aggregation would be computed, and why; it is not run",
        handler=explain_stats,
        body=STATS_BODY,
        answer=STATS_EXPLANATION,
    ),
)
