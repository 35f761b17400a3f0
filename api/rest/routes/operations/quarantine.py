"""``/api/v1/quarantine``: lines that became no event, for operators: where they stand, why, and another try."""

from __future__ import annotations

from typing import Any

from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, TEXT_PARAMETER, declare_list, declare_object
from watchfloor.ingest.records.quarantine import CLEARED, OPEN, RETRIED

MAX_LINES, DEFAULT_LINES = 10_000, 1_000
FILE = {"type": "string", "minLength": 1, "maxLength": 4096, "description": "only the lines of this file"}
LINE = {
    "line": {"type": "string", "description": "the line's name"},
    "file": {"type": "string"},
    "offset": {**COUNT_ANSWER, "description": "of the line's first byte in the file"},
    "feed": {"type": "string"},
    "lines": {**COUNT_ANSWER, "description": "more than 1 for lines that are only counted"},
    "bytes": {**COUNT_ANSWER, "description": "of what is kept of the line"},
    "reason": {"type": "string"},
}


def list_lines(call: Call) -> dict[str, Any]:
    lines, more = call.records.list_lines(call.parameters.get("file"), call.parameters["limit"])
    return {"lines": lines, "more": more}


def show_line(call: Call) -> dict[str, Any]:
    return call.records.read_line(call.parameters["line"])


def retry_lines(call: Call) -> dict[str, Any]:
    """Returns how many lines became events, of those that the token sees."""
    result = call.context.services.retry_lines(call.grant, call.body.get("file"), call.body.get("line"))
    return {"lines": result.lines, "events": result.events, "kept": result.lines - result.events}


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/quarantine",
        summary="Lines that became no event: where they stand, and why",
        handler=list_lines,
        parameters=declare_object(
            {},
            {
                "file": FILE,
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "default": DEFAULT_LINES},
            },
        ),
        answer=declare_object(
            {
                "lines": declare_list(declare_object(LINE)),
                "more": {"type": "boolean", "description": "whether there are more lines than these"},
            }
        ),
        role="operator",
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/quarantine/<line>",
        summary="One line in quarantine, with its bytes",
        handler=show_line,
        parameters=declare_object({"line": TEXT_PARAMETER}),
        answer=declare_object(
            {
                **LINE,
                "state": {"enum": [OPEN, RETRIED, CLEARED]},
                "whole": {"type": "boolean", "description": "false: only the beginning of the line is kept"},
                "text": {"type": "string", "description": "the line, control characters and odd bytes written out"},
                "raw": {"type": "string", "contentEncoding": "base64", "description": "the bytes of the line"},
            }
        ),
        role="operator",
    ),
    Route(
        method="POST",
        path=f"{PREFIX}/quarantine/retry",
        summary="Parses lines in quarantine again: all, those of a file, or one",
        handler=retry_lines,
        body={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Lines to parse again",
            **declare_object({}, {"file": FILE, "line": {"type": "string", "minLength": 1, "maxLength": 200}}),
        },
        answer=declare_object(
            {
                "lines": {**COUNT_ANSWER, "description": "lines that were tried"},
                "events": {**COUNT_ANSWER, "description": "lines that are events now"},
                "kept": {**COUNT_ANSWER, "description": "lines that stay in quarantine"},
            }
        ),
        role="operator",
    ),
)
