"""The access of a request: its bearer token, or the token of its browser session.

A browser sends its session's cookie by itself, also with requests that another site has it make. The cookie is
SameSite=Strict, and where a request with a cookie may have an effect, it must come from the service's own page besides.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import Request

from watchfloor.api.tokens.sessions import Session
from watchfloor.api.tokens.token import Token

from .context import RestContext
from .problems import Problem
from .route import ANY_ROLE, RequiredRole

COOKIE = "watchfloor_session"
FOREIGN = "a request with a session's cookie must come from the service's own page"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
INVALID_TOKEN = ', error="invalid_token"'


@dataclass(frozen=True)
class Access:
    """The token of a request, and the session that it came by; both are None where a route needs no token.

    ``is_local`` is true for the access of the user that the service runs as, which needs no token and does not end.
    """

    token: Token | None = None
    session: Session | None = None
    is_local: bool = False

    def is_in_force(self, context: RestContext) -> bool:
        """Returns whether neither the token nor the session has ended since."""
        if self.is_local:
            return True
        if self.session is not None:
            return context.sessions.is_open(self.session)
        return self.token is None or context.tokens.is_in_force(self.token)


LOCAL_ACCESS = Access(Token("(local)", "", "analyst", None, 0), is_local=True)
"""The access of commands: it sees all that the service's user may see. No token can have this name."""


def authorize_request(request: Request, context: RestContext, role: RequiredRole | None) -> Access:
    """Returns the access of a request to a route that needs ``role``. A bearer token goes before a cookie.

    Raises the problem ``unauthorized`` without a token in force, and ``forbidden`` if its role is not the route's, or
    if a request with a cookie does not come from the service's own page.
    """
    if role is None:
        return Access()
    if "Authorization" not in request.headers and COOKIE in request.cookies:
        access = _find_session(request, context)
    else:
        access = _find_bearer(request, context)
    assert access.token is not None
    if role != ANY_ROLE and not access.token.has_role(role):
        raise Problem("forbidden", f"this needs a token of the role {role}; the role of yours is {access.token.role}")
    return access


def check_same_origin(request: Request) -> None:
    """Raises the problem ``forbidden`` if a page of another site has had a browser make this request.

    Browsers tell where a request comes from in Sec-Fetch-Site, and in Origin; pages can change neither.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site not in (None, "same-origin") or (origin is not None and urlsplit(origin).netloc != request.host):
        raise Problem("forbidden", FOREIGN)


def refuse_token(detail: str, challenge: str = "") -> Problem:
    """Returns the problem of a request whose token is missing or not in force."""
    return Problem("unauthorized", detail, headers={"WWW-Authenticate": f'Bearer realm="watchfloor"{challenge}'})


def _find_session(request: Request, context: RestContext) -> Access:
    check_same_origin(request)
    # Over plain HTTP, but to this machine, browsers send Origin alone, and not with requests that have no effect.
    if request.method not in SAFE_METHODS and not {"Sec-Fetch-Site", "Origin"} & set(request.headers.keys()):
        raise Problem("forbidden", FOREIGN)
    session = context.sessions.find_session(request.cookies[COOKIE])
    if session is None:
        raise refuse_token("the session has ended; sign in again")
    return Access(session.token, session)


def _find_bearer(request: Request, context: RestContext) -> Access:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise refuse_token("send the header Authorization: Bearer TOKEN")
    token = context.tokens.find_token(text.strip())
    if token is None:
        raise refuse_token("this token is not known or has expired", INVALID_TOKEN)
    return Access(token)
