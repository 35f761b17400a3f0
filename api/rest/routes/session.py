"""``/api/v1/session``: a browser signs in by a token and gets a cookie, sees whose it is, and signs out."""

from __future__ import annotations

from typing import Any

import orjson
from flask import Response, request

from watchfloor.api.rest.base.access import COOKIE, INVALID_TOKEN, check_same_origin, refuse_token
from watchfloor.api.rest.base.route import ANY_ROLE, JSON, PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import TIME_ANSWER, declare_object
from watchfloor.api.tokens.token import Token
from watchfloor.schema.choices import TOKEN_ROLES
from watchfloor.schema.times import format_micros

PATH = f"{PREFIX}/session"
WHO = declare_object(
    {
        "name": {"type": "string", "description": "the token's name"},
        "role": {"enum": list(TOKEN_ROLES)},
        "labels": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "description": "the token's labels; null: all that the service sees",
        },
        "sources": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "description": "names and patterns of the sources that the token is bound to; null: it is bound to none",
        },
        "expires": {"anyOf": [TIME_ANSWER, {"type": "null"}], "description": "when the token expires"},
    }
)
SIGN_IN_BODY = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A token to sign in with",
    **declare_object({"token": {"type": "string", "minLength": 1, "maxLength": 200}}),
}


def sign_in(call: Call) -> Response:
    """Returns who the token is, with the cookie of a new session."""
    check_same_origin(request)
    token = call.context.tokens.find_token(call.body["token"].strip())
    if token is None:
        raise refuse_token("this token is not known or has expired", INVALID_TOKEN)
    response = Response(orjson.dumps(_describe_token(token)) + b"\n", content_type=JSON)
    response.set_cookie(
        COOKIE,
        call.context.sessions.open_session(token),
        max_age=int(call.context.sessions.limits.lifetime_seconds),
        httponly=True,
        samesite="Strict",
        # Behind a proxy only the browser knows that it speaks TLS.
        secure=request.is_secure or request.headers.get("Origin", "").startswith("https:"),
    )
    return response


def show_session(call: Call) -> dict[str, Any]:
    assert call.token is not None
    return _describe_token(call.token)


def sign_out(call: Call) -> Response:
    """Ends the session, if the request came by one, and deletes its cookie."""
    response = Response(orjson.dumps({"ended": call.session is not None}) + b"\n", content_type=JSON)
    if call.session is not None:
        call.context.sessions.end_session(call.session)
        response.delete_cookie(COOKIE, httponly=True, samesite="Strict")
    return response


def _describe_token(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": token.role,
        "labels": None if token.authorizations is None else list(token.authorizations),
        "sources": None if token.sources is None else list(token.sources),
        "expires": None if token.expires is None else format_micros(token.expires),
    }


ROUTES = (
    Route(
        method="POST",
        path=PATH,
        summary="Signs a browser in: a session's cookie for a token",
        handler=sign_in,
        body=SIGN_IN_BODY,
        answer=WHO,
        role=None,
        holds_slot=False,
    ),
    Route(
        method="GET",
        path=PATH,
        summary="Whose token this is",
        handler=show_session,
        parameters=declare_object({}),
        answer=WHO,
        role=ANY_ROLE,
        holds_slot=False,
    ),
    Route(
        method="DELETE",
        path=PATH,
        summary="Signs a browser out: ends its session",
        handler=sign_out,
        parameters=declare_object({}),
        answer=declare_object({"ended": {"type": "boolean", "description": "whether there was a session"}}),
        role=ANY_ROLE,
        holds_slot=False,
    ),
)
