"""The REST service as a Flask application.

``create_app`` finds the routes in ``routes/``. For each request the application checks the token (``base/access.py``),
validates the parameters and the body by the route's schemas (``base/validate.py``), and sends what the route's handler
returns. Every error becomes a problem of one shape (``base/problems.py``). ``page.py`` adds the files of the web page.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial

import orjson
from flask import Flask, Response, g, request

from watchfloor.api.rest.answers.negotiation import compress_answer
from watchfloor.api.rest.base.access import INVALID_TOKEN, LOCAL_ACCESS, Access, authorize_request, refuse_token
from watchfloor.api.rest.base.context import KnownTokens, QueryServices, RestContext
from watchfloor.api.rest.base.limits import BODY_BYTES, RestLimits
from watchfloor.api.rest.base.problems import to_problem
from watchfloor.api.rest.base.route import JSON, Call, RequiredRole, Route, find_routes
from watchfloor.api.rest.base.stream import TOKEN_ENDED
from watchfloor.api.rest.base.validate import RequestValidator
from watchfloor.api.rest.local.command import ANSWERING_ROOMS, make_command_route
from watchfloor.api.rest.warming.questions import PATHS
from watchfloor.schema.files.code_state import CodeState
from watchfloor.schema.settings.settings import Settings

from .page import add_page


def create_app(
    services: QueryServices,
    tokens: KnownTokens,
    limits: RestLimits | None = None,
    settings: Settings | None = None,
    stopping: threading.Event | None = None,
) -> Flask:
    """Returns the application. ``limits`` None stands for the limits of the settings' defaults.

    ``settings`` name the stack whose disk and servers the service tells of; it tells of none without them. Once
    ``stopping`` is set, the service says that it is not ready.
    """
    return make_app(RestContext(services, tokens, limits or RestLimits(), settings, stopping))


def make_app(context: RestContext) -> Flask:
    """Returns the application of the web page and of all routes in ``routes/``, for clients with tokens."""
    app = _make_flask(context)
    roles: dict[str, RequiredRole | None] = dict.fromkeys(add_page(app))
    app.before_request(partial(_authorize_request, context, roles))
    _add_routes(app, context, routes := find_routes())
    roles.update({_name_endpoint(route): route.role for route in routes})
    return app


def make_command_app(context: RestContext, settings: Settings) -> Flask:
    """Returns the application that answers commands of the user that the service runs as, without any token."""
    app = _make_flask(context)
    app.before_request(_allow_local)
    _add_routes(app, context, [make_command_route(settings, CodeState(ANSWERING_ROOMS))])
    return app


def make_warm_up_app(services: QueryServices, tokens: KnownTokens, limits: RestLimits) -> Flask:
    """Returns the application that answers questions of the service itself, which are neither logged nor counted."""
    context = RestContext(services, tokens, limits)
    app = _make_flask(context)
    app.before_request(_allow_local)
    _add_routes(app, context, [route for route in find_routes() if route.path in PATHS])
    return app


def _make_flask(context: RestContext) -> Flask:
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_BYTES
    app.url_map.merge_slashes = False  # else a path with two of them is answered by a redirect, in HTML
    app.before_request(partial(_note_begin, context))
    return app


def _add_routes(app: Flask, context: RestContext, routes: Sequence[Route]) -> None:
    for route in routes:
        view = partial(_answer_request, route, RequestValidator(route), context)
        app.add_url_rule(route.path, _name_endpoint(route), view, methods=[route.method])
    app.after_request(compress_answer)
    app.after_request(_add_headers)
    app.after_request(partial(_count_answer, context))
    app.register_error_handler(Exception, lambda error: to_problem(error).to_response())


def _name_endpoint(route: Route) -> str:
    return f"{route.method} {route.path}"


def _allow_local() -> None:
    g.access = LOCAL_ACCESS


def _note_begin(context: RestContext) -> None:
    g.began = context.asked_at = time.monotonic()


def _count_answer(context: RestContext, response: Response) -> Response:
    """Counts the answer by its route; the routing has found none for an unknown path or method."""
    route = None if request.url_rule is None else request.url_rule.rule
    context.metrics.count_request(request.method, route, response.status_code, time.monotonic() - g.began)
    return response


def _authorize_request(context: RestContext, roles: Mapping[str, RequiredRole | None]) -> None:
    """Sets ``g.access``. Raises a problem if the request has no token for its route.

    The methods of a route are no secret: whoever asks for them needs no token.
    """
    if request.method == "OPTIONS":
        return
    role = None if request.url_rule is None else roles[request.url_rule.endpoint]
    g.access = authorize_request(request, context, role)


def _answer_request(route: Route, validator: RequestValidator, context: RestContext, **variables: str) -> Response:
    """Answers one request. Flask passes the path's variables, which the validator reads from the request."""
    access: Access = g.access
    call = Call(
        context=context,
        route=route,
        token=access.token,
        parameters=validator.read_parameters(request),
        body=validator.read_body(request),
        headers=request.headers,
        is_token_valid=lambda: access.is_in_force(context),
        is_client_gone=request.environ.get("waitress.client_disconnected", lambda: False),
        session=access.session,
    )
    began = time.perf_counter()
    try:
        with context.queries.hold_slot(call.token_name, call.is_client_gone) if route.holds_slot else nullcontext():
            answer = route.handler(call)
    except Exception as error:
        problem = to_problem(error)
        if route.is_logged:
            call.log_query({"status": "failed", "seconds": _count_seconds(began), "problem": problem.to_json()})
        raise problem from error
    if route.is_logged and route.holds_slot:  # streams and jobs log their ends by themselves
        call.log_query({"status": "complete", "seconds": _count_seconds(began)})
    if isinstance(answer, Response):
        return answer
    if not call.is_token_valid():
        raise refuse_token(TOKEN_ENDED, INVALID_TOKEN)
    return Response(orjson.dumps(answer) + b"\n", content_type=JSON)


def _count_seconds(began: float) -> float:
    return round(time.perf_counter() - began, 6)


def _add_headers(response: Response) -> Response:
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
