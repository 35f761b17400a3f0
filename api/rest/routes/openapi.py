"""``/api/v1/openapi.json`` and ``docs``: the description of all routes, for programs and for people."""

from __future__ import annotations

from functools import cache

import orjson
from flask import Response, request

from watchfloor.api.rest.base.route import JSON, PREFIX, Call, Route, find_routes
from watchfloor.api.rest.base.schemas import declare_object
from watchfloor.api.rest.openapi.document import make_document
from watchfloor.api.rest.openapi.page import CONTENT_POLICY, make_page

HTML = "text/html; charset=utf-8"


@cache
def make_texts() -> tuple[bytes, bytes]:
    """Returns the document and the page, which stay the same while the service runs."""
    document = make_document(find_routes())
    return orjson.dumps(document) + b"\n", make_page(document).encode()


def send_document(call: Call) -> Response:
    return _send(Response(make_texts()[0], content_type=JSON))


def send_page(call: Call) -> Response:
    return _send(Response(make_texts()[1], content_type=HTML, headers={"Content-Security-Policy": CONTENT_POLICY}))


def _send(response: Response) -> Response:
    """Returns an answer that a client may keep, and of which it asks by an ETag whether it has changed."""
    response.headers["Cache-Control"] = "no-cache"
    response.add_etag(weak=True)  # the same for each compression
    response.make_conditional(request)
    return response


ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/openapi.json",
        summary="The description of all routes as OpenAPI 3.1",
        handler=send_document,
        parameters=declare_object({}),
        answer={"type": "object", "required": ["openapi", "info", "paths"]},
        role=None,
        holds_slot=False,
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/docs",
        summary="The same as a page for people",
        handler=send_page,
        parameters=declare_object({}),
        answer={"type": "string"},
        answer_type=HTML,
        role=None,
        holds_slot=False,
    ),
)
