"""The contract of a REST route: its method and path, the JSON Schemas of its input and output, and its handler."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from werkzeug.datastructures import Headers

from watchfloor.api.records.ingest_records import IngestRecords
from watchfloor.api.records.service_metrics import QueryKind
from watchfloor.api.tokens.sessions import Session
from watchfloor.api.tokens.token import Role, Token
from watchfloor.query.service import QueryService
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.grant import Grant

from .context import RestContext

PREFIX = "/api/v1"
JSON = "application/json"
ROUTES_FOLDER = "watchfloor.api.rest.routes"
ANY_ROLE: Literal["any"] = "any"
RequiredRole = Role | Literal["any"]

JsonSchema = Mapping[str, Any]
Handler = Callable[["Call"], Any]


@dataclass(frozen=True)
class Route:
    """A route: one method on one path. Path variables are written as ``<name>``.

    ``parameters`` is the JSON Schema of an object with all path variables and query parameters; if it is None, query
    parameters are ignored. ``body`` is the JSON Schema of the JSON body. ``answer`` is the JSON Schema of the
    answer, or of each of its lines where ``answer_type`` is NDJSON. ``other_types`` are the media types in which a
    client may ask for the answer instead.
    ``role`` is the role that a token must have, or ``ANY_ROLE``; a route whose role is None needs no token.
    ``handler`` takes a valid ``Call`` and returns a JSON value or a Flask response. It raises ``Problem`` or any error
    that ``problems.to_problem`` knows. It holds a slot of ``RestContext.queries`` while it runs, so only a handler that
    takes its slot itself, and one that never waits for the store, has ``holds_slot`` False.
    """

    method: str
    path: str
    summary: str
    handler: Handler
    answer: JsonSchema
    parameters: JsonSchema | None = None
    body: JsonSchema | None = None
    answer_type: str = JSON
    other_types: tuple[str, ...] = ()
    role: RequiredRole | None = "analyst"
    holds_slot: bool = True

    @property
    def is_logged(self) -> bool:
        """True if requests stand in the query log: those of analysts that read data or change what is saved."""
        return self.role == "analyst" and (self.holds_slot or self.body is not None)


@dataclass(frozen=True)
class Call:
    """One request that fits its route's schemas.

    ``headers`` are the request's. ``token`` is what is known of its token; None on a route without a token.
    ``session`` is the browser's session that it came by; None for a bearer token.
    ``is_token_valid`` returns False once the token was revoked, changed or has expired, or its session has ended.
    ``is_client_gone`` returns True once the client has closed its connection.
    """

    context: RestContext
    route: Route
    token: Token | None
    parameters: Mapping[str, Any]
    body: Mapping[str, Any]
    headers: Headers
    is_token_valid: Callable[[], bool]
    is_client_gone: Callable[[], bool]
    session: Session | None = None

    def log_query(self, summary: Mapping[str, Any]) -> None:
        """Writes the request to the query log, with its status and what ``summary`` tells of its answer."""
        asked = {**self.parameters, **self.body}
        self.context.log.write(self.token_name, f"{self.route.method} {self.route.path}", asked, summary)

    def end_query(self, kind: QueryKind, summary: Mapping[str, Any], sent_bytes: int = 0) -> None:
        """Logs and counts a query that has ended, with its ``summary``."""
        self.log_query(summary)
        source = {**self.parameters, **self.body}["source"]
        self.context.metrics.count_query(kind, source, summary, sent_bytes)

    @property
    def token_name(self) -> str:
        """The name by which limits per token are kept; empty without a token."""
        return "" if self.token is None else self.token.name

    @property
    def grant(self) -> Grant:
        """The data that the token's holder may see. A call without a token sees data without labels."""
        return Grant(labels=()) if self.token is None else self.token.grant

    @property
    def service(self) -> QueryService:
        """The query service that sees what the token's holder may see."""
        return self.context.services.open_service(self.grant)

    @property
    def records(self) -> IngestRecords:
        """The records of ingest that the token's holder may see."""
        return self.context.services.open_records(self.grant)

    def read_sources(self) -> Mapping[str, Source]:
        """Returns the sources that the token's holder knows by name, as the store has them now."""
        return self.context.services.read_sources(self.grant)


def find_routes() -> list[Route]:
    """Returns the ``ROUTES`` of every file in ``routes/`` and its folders."""
    folder = import_module(ROUTES_FOLDER)
    found = pkgutil.walk_packages(folder.__path__, f"{ROUTES_FOLDER}.")
    return [route for module in found if not module.ispkg for route in import_module(module.name).ROUTES]
