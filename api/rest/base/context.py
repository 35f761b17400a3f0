"""State that an application's routes share: query services, health, and the limits of running queries."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from watchfloor.api.tokens.token import Token
from watchfloor.query.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.source import Source

from .health import Health
from .problems import RETRY_SECONDS, Problem
from .stream import DisconnectWatcher


class QueryServices(Protocol):
    """Provides query services by authorizations; None stands for all that the service's Accumulo user has."""

    def open_service(self, authorizations: tuple[str, ...] | None) -> QueryService:
        """Returns the query service that sees what ``authorizations`` let through."""
        ...

    def read_sources(self, authorizations: tuple[str, ...] | None) -> Mapping[str, Source]:
        """Returns all sources by name, as the store has them now."""
        ...


class KnownTokens(Protocol):
    """Knows the bearer tokens that are in force."""

    @property
    def damage(self) -> str | None:
        """The reason why the tokens cannot be read anew, for operators alone; None if they can."""
        ...

    def find_token(self, text: str) -> Token | None: ...

    def is_in_force(self, token: Token) -> bool: ...


class RestContext:
    """The state that all requests of an application share.

    ``max_queries`` is the number of queries that may run at once, which is bounded so that short requests always find a
    thread. ``max_deadline`` (seconds) bounds the deadlines of all queries and watches; None sets no bound.
    """

    def __init__(
        self, services: QueryServices, tokens: KnownTokens, max_queries: int, max_deadline: float | None
    ) -> None:
        self.services, self.tokens = services, tokens
        self.health = Health(lambda: len(services.read_sources(None)))
        self.disconnects = DisconnectWatcher()
        self._max_queries, self._max_deadline = max_queries, max_deadline
        self._slots = threading.BoundedSemaphore(max_queries)

    def acquire_query_slot(self) -> None:
        """Takes a slot for a running query. Raises the problem ``busy`` if all slots are taken."""
        if not self._slots.acquire(blocking=False):
            detail = f"{self._max_queries} queries are running; try again in a moment"
            raise Problem("busy", detail, headers={"Retry-After": str(RETRY_SECONDS)})

    def release_query_slot(self) -> None:
        """Gives back the slot of a query that has ended."""
        self._slots.release()

    def bound_deadline(self, request: QueryRequest) -> QueryRequest:
        """Returns the request with a deadline of at most ``max_deadline``."""
        if self._max_deadline is None:
            return request
        return replace(request, deadline=min(request.deadline or self._max_deadline, self._max_deadline))
