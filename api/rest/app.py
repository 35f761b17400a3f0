"""The REST service as a Flask application.

``create_app`` finds the routes in ``routes/``. For each request the application checks the bearer token, validates the
parameters and the body by the route's schemas (``base/validate.py``), and sends what the route's handler returns. Every
error becomes a problem of one shape (``base/problems.py``).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from importlib import import_module

import orjson
from flask import Flask, Response, g, request

from watchfloor.api.rest.base.context import KnownTokens, QueryServices, RestContext
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.base.problems import Problem, to_problem
from watchfloor.api.rest.base.route import JSON, Call, Route
from watchfloor.api.rest.base.stream import TOKEN_ENDED
from watchfloor.api.rest.base.validate import MAX_BODY, RequestValidator
from watchfloor.api.tokens.token import Role, Token
from watchfloor.schema.settings.settings import Settings

ROUTES_FOLDER = "watchfloor.api.rest.routes"


def create_app(
    services: QueryServices,
    tokens: KnownTokens,
    limits: RestLimits | None = None,
    settings: Settings | None = None,
) -> Flask:
    """Returns the application. ``limits`` None stands for the limits of the settings' defaults.

    ``settings`` name the stack whose disk and servers the service tells of; it tells of none without them.
    """
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.url_map.merge_slashes = False  # else a path with two of them is answered by a redirect, in HTML
    context = RestContext(services, tokens, limits or RestLimits(), settings)
    roles: dict[str, Role | None] = {}
    for route in find_routes():
        endpoint = f"{route.method} {route.path}"
        view = partial(_answer_request, route, RequestValidator(route), context)
        app.add_url_rule(route.path, endpoint, view, methods=[route.method])
        roles[endpoint] = route.role
    app.before_request(partial(_authorize_request, tokens, roles))
    app.after_request(_add_headers)
    app.register_error_handler(Exception, lambda error: to_problem(error).to_response())
    return app


def find_routes() -> list[Route]:
    """Returns the ``ROUTES`` of every file in ``routes/``."""
    folder = import_module(ROUTES_FOLDER)
    names = [module.name for module in pkgutil.iter_modules(folder.__path__)]
    return [route for name in names for route in import_module(f"{ROUTES_FOLDER}.{name}").ROUTES]


def _authorize_request(tokens: KnownTokens, roles: Mapping[str, Role | None]) -> None:
    """Sets ``g.token`` to the request's token; None if the route needs none.

    Raises the problem ``unauthorized`` without a token in force, and ``forbidden`` if its role is not the route's.
    """
    g.token = None
    role = None if request.url_rule is None else roles[request.url_rule.endpoint]
    if role is None:
        return
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise _refuse_token("send the header Authorization: Bearer TOKEN", "")
    token = tokens.find_token(text.strip())
    if token is None:
        raise _refuse_token("this token is not known or has expired", ', error="invalid_token"')
    if token.role != role:
        raise Problem("forbidden", f"this needs a token of the role {role}; the role of yours is {token.role}")
    g.token = token


def _answer_request(route: Route, validator: RequestValidator, context: RestContext, **variables: str) -> Response:
    """Answers one request. Flask passes the path's variables, which the validator reads from the request."""
    token: Token | None = g.token
    call = Call(
        context=context,
        token=token,
        parameters=validator.read_parameters(request),
        body=validator.read_body(request),
        is_token_valid=lambda: token is None or context.tokens.is_in_force(token),
        is_client_gone=request.environ.get("waitress.client_disconnected", lambda: False),
    )
    with context.queries.hold_slot(call.token_name, call.is_client_gone) if route.holds_slot else nullcontext():
        answer = route.handler(call)
    if isinstance(answer, Response):
        return answer
    if not call.is_token_valid():
        raise _refuse_token(TOKEN_ENDED, ', error="invalid_token"')
    return Response(orjson.dumps(answer) + b"\n", content_type=JSON)


def _add_headers(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _refuse_token(detail: str, challenge: str) -> Problem:
    return Problem("unauthorized", detail, headers={"WWW-Authenticate": f'Bearer realm="watchfloor"{challenge}'})
