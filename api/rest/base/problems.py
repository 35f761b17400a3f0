"""Errors as RFC 9457 problem details: the one shape of all error answers.

A problem has ``type`` (a tag URI that names its kind and never changes), ``title``, ``status`` and ``detail``. The
problem of a wrong filter adds ``position`` (0-based character), ``caret`` (the line with a caret under the place) and
``reason`` (the detail without the caret). The problem of a wrong body adds ``errors``, a list of ``{pointer, detail}``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from flask import Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from watchfloor.schema.errors import (
    FilterError,
    NoRoomError,
    OperatorError,
    TimeRangeError,
    UnknownEventError,
    UnknownFieldError,
    UnknownLineError,
    UnknownListError,
    UnknownSearchError,
    UnknownSourceError,
    UserError,
    point_at,
)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5
NO_ROOM = "nothing is written until some space is freed; queries are answered (the service's log has the figures)"
UNAVAILABLE = "the store does not answer this now; try again later (the service's log has the reason)"
log = logging.getLogger(__name__)

# name → (status, title). The names stand in docs/using/rest.md.
KINDS: Mapping[str, tuple[int, str]] = {
    "bad-request": (400, "The request cannot be answered as it is"),
    "bad-body": (400, "The body does not fit its schema"),
    "bad-parameter": (400, "A query parameter is missing, unknown or bad"),
    "bad-filter": (400, "The filter is wrong"),
    "unknown-field": (400, "The source has no such field"),
    "bad-time-range": (400, "The time range is wrong"),
    "unauthorized": (401, "A valid bearer token is needed"),
    "forbidden": (403, "The token's role does not allow this"),
    "unknown-source": (404, "There is no such source"),
    "unknown-list": (404, "There is no such list"),
    "unknown-event": (404, "There is no such event"),
    "unknown-search": (404, "There is no such search"),
    "unknown-job": (404, "There is no such job"),
    "unknown-line": (404, "There is no such line in quarantine"),
    "not-found": (404, "There is nothing here"),
    "method-not-allowed": (405, "This method is not allowed here"),
    "too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The body must be JSON"),
    "too-many-requests": (429, "This token has too many requests"),
    "internal": (500, "The service failed"),
    "busy": (429, "Too many requests are running"),
    "unavailable": (503, "The store is not available"),
    "no-room": (507, "The store's disk is nearly full"),
}
_KINDS_BY_ERROR: tuple[tuple[type[BaseException], str], ...] = (
    (UnknownFieldError, "unknown-field"),
    (FilterError, "bad-filter"),
    (UnknownSourceError, "unknown-source"),
    (UnknownListError, "unknown-list"),
    (UnknownEventError, "unknown-event"),
    (UnknownLineError, "unknown-line"),
    (UnknownSearchError, "unknown-search"),
    (TimeRangeError, "bad-time-range"),
    (UserError, "bad-request"),
    (NoRoomError, "no-room"),
    (OperatorError, "unavailable"),
)
_KINDS_BY_STATUS = {404: "not-found", 405: "method-not-allowed", 413: "too-large", 415: "unsupported-media-type"}


@dataclass(eq=False)
class Problem(Exception):
    """One problem of a kind in ``KINDS``. Handlers raise it; the application sends ``to_response()``."""

    kind: str
    detail: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return KINDS[self.kind][0]

    def to_json(self) -> dict[str, Any]:
        """Returns the problem details of RFC 9457."""
        status, title = KINDS[self.kind]
        return {"type": problem_type(self.kind), "title": title, "status": status, "detail": self.detail, **self.extra}

    def to_response(self) -> Response:
        return Response(orjson.dumps(self.to_json()), self.status, dict(self.headers), content_type=MEDIA_TYPE)


def problem_type(kind: str) -> str:
    """Returns the tag URI of a kind."""
    return f"tag:watchfloor,2026:{kind}"


def to_problem(error: BaseException) -> Problem:
    """Returns the problem that an exception stands for.

    Errors for which the request is not to blame are logged, and their messages are kept from the client: they may name
    files, servers and tables, or data that the client may not see.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return _convert_http_error(error)
    kind = next((kind for cls, kind in _KINDS_BY_ERROR if isinstance(error, cls)), "internal")
    if kind == "internal":
        log.error("a request failed", exc_info=error)
        return Problem(kind, "an unexpected error; the service's log has it")
    if kind == "unavailable":
        log.warning("not available: %s", error)
        return Problem(kind, UNAVAILABLE, headers={"Retry-After": str(RETRY_SECONDS)})
    if kind == "no-room":
        log.warning("not written: %s", error)
        return Problem(kind, NO_ROOM)
    if isinstance(error, FilterError) and error.text:
        place = {"position": error.position, "caret": point_at(error.text, error.position), "reason": error.message}
        return Problem(kind, str(error), place)
    return Problem(kind, str(error))


def _convert_http_error(error: HTTPException) -> Problem:
    """Returns the problem for an error of Flask or werkzeug, for example an unknown path or a wrong method."""
    status = error.code or 500
    kind = _KINDS_BY_STATUS.get(status, "internal" if status >= 500 else "bad-request")
    headers = {}
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return Problem(kind, error.description or KINDS[kind][1], headers=headers)
