"""The REST service: a Flask application over a query service per token's authorizations.

Read the routes below; ``body`` checks what comes in, ``stream`` sends results, ``problems`` is the shape of errors.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import orjson
from flask import Flask, Response, g, request

from watchfloor.api.answers import count_answer, source_answer, sources_answer, timeline_answer, top_answer
from watchfloor.api.requests import query_request
from watchfloor.api.rest.base.health import Health
from watchfloor.api.rest.base.problems import RETRY_SECONDS, Problem, problem_of
from watchfloor.api.rest.base.stream import Abandoned, QueryStream
from watchfloor.api.rest.base.validate import MAX_BODY, number, read_parameters, read_query
from watchfloor.query.service import QueryRequest, QueryService
from watchfloor.schema.source import Source

from .auth import Holder

PREFIX = "/api/v1"
NDJSON = "application/x-ndjson"
TOP_MOST = 10_000


class Services(Protocol):
    """The query service that sees what these authorizations let through; None: all that the service's user may see."""

    def __call__(self, authorizations: tuple[str, ...] | None) -> QueryService: ...

    def sources(self, authorizations: tuple[str, ...] | None) -> Mapping[str, Source]:
        """All sources as the store has them now."""
        ...


class Holders(Protocol):
    def holder(self, token: str) -> Holder | None: ...


def create_app(services: Services, tokens: Holders, streams: int = 6, longest: float | None = None) -> Flask:
    """``streams`` is how many queries may run at once, so that short requests always find a thread.

    ``longest`` is the deadline in seconds of all queries and watches that ask for a later one or none.
    """
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    free, abandoned, health = (
        threading.BoundedSemaphore(streams),
        Abandoned(),
        Health(lambda: len(services.sources(None))),
    )

    def service() -> QueryService:
        return services(g.holder.authorizations)

    def bounded(asked: QueryRequest) -> QueryRequest:
        return asked if longest is None else replace(asked, deadline=min(asked.deadline or longest, longest))

    @app.before_request
    def authorize() -> None:
        if request.path == "/healthz" or request.url_rule is None:
            return
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise _unauthorized("send the header Authorization: Bearer TOKEN", "")
        g.holder = tokens.holder(token.strip())
        if g.holder is None:
            raise _unauthorized("this token is not known", ', error="invalid_token"')

    @app.errorhandler(Exception)
    def failed(error: Exception) -> Response:
        return problem_of(error).response()

    @app.after_request
    def private(response: Response) -> Response:
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    @app.post(f"{PREFIX}/query")
    def query() -> Response:
        body = read_query(request)
        watch = body.pop("watch", False)
        asked = bounded(query_request(body))
        if not free.acquire(blocking=False):
            detail = f"{streams} queries are running; try again in a moment"
            raise Problem("busy", detail, headers={"Retry-After": str(RETRY_SECONDS)})
        try:
            result = service().watch(asked) if watch else service().run(asked)
        except BaseException:
            free.release()
            raise
        stream = QueryStream(result, free.release)
        abandoned.watch(stream, request.environ.get("waitress.client_disconnected", lambda: False))
        try:
            stream.start()
        except BaseException:
            abandoned.forget(stream)
            raise
        response = Response(stream, content_type=NDJSON, direct_passthrough=True)
        response.call_on_close(lambda: abandoned.forget(stream))
        return response

    @app.post(f"{PREFIX}/explain")
    def explain() -> Response:
        body = read_query(request)
        body.pop("watch", None)  # its polls are run as the query would be
        return _json(service().explain(query_request(body)).to_json())

    @app.get(f"{PREFIX}/sources")
    def sources() -> Response:
        read_parameters(request, (), ())
        return _json(sources_answer(services.sources(g.holder.authorizations)))

    @app.get(f"{PREFIX}/sources/<name>")
    def source(name: str) -> Response:
        read_parameters(request, (), ())
        return _json(source_answer(services.sources(g.holder.authorizations), name))

    @app.get(f"{PREFIX}/count")
    def count() -> Response:
        return _json(
            count_answer(service(), read_parameters(request, ("source",), ("since", "until", "field", "value")))
        )

    @app.get(f"{PREFIX}/top")
    def top() -> Response:
        asked = read_parameters(request, ("source", "field"), ("since", "until", "limit"))
        return _json(top_answer(service(), asked, number(asked, "limit", 10, TOP_MOST)))

    @app.get(f"{PREFIX}/timeline")
    def timeline() -> Response:
        optional = ("since", "until", "bucket", "field", "value")
        return _json(timeline_answer(service(), read_parameters(request, ("source",), optional)))

    @app.get("/healthz")
    def healthz() -> Response:
        return _json({"status": "ok", "store": "answers", "sources": health.sources()})

    return app


def _json(answer: Any) -> Response:
    return Response(orjson.dumps(answer) + b"\n", content_type="application/json")


def _unauthorized(detail: str, challenge: str) -> Problem:
    return Problem("unauthorized", detail, headers={"WWW-Authenticate": f'Bearer realm="watchfloor"{challenge}'})
