"""State that an application's routes share: query services, health, and the limits of running queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from watchfloor.api.records.ingest_records import IngestRecords
from watchfloor.api.records.query_log import QueryLog
from watchfloor.api.records.service_metrics import ServiceMetrics, StateCollector
from watchfloor.api.tokens.sessions import Sessions
from watchfloor.api.tokens.token import Token
from watchfloor.ingest.maintenance.retry import RetryResult
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.lists.list_file import ListValues
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.grant import EVERYTHING, Grant
from watchfloor.store.runtime.disk_space import DiskSpace, read_disk_space
from watchfloor.store.saved.searches import SavedSearch
from watchfloor.store.stack.supervision.restarts import load_restarts
from watchfloor.store.value_lists import StoredList

from .health import Health
from .jobs import JobStore
from .limits import RestLimits
from .query_queue import QueryQueue, SlotState
from .stream import ClientWatcher

REST_SECONDS = 0.5
Bounded = TypeVar("Bounded", QueryRequest, StatsQuery)


class QueryServices(Protocol):
    """Provides query services by what a token's holder may see."""

    def open_service(self, grant: Grant) -> QueryService:
        """Returns the query service that sees what ``grant`` lets through."""
        ...

    def read_sources(self, grant: Grant) -> Mapping[str, Source]:
        """Returns the sources that ``grant`` lets through by name, as the store has them now."""
        ...

    def put_list(
        self, grant: Grant, name: str, values: ListValues, label: str | None, expires: int | None
    ) -> StoredList:
        """Stores a named list with the rights of the ingest user; see ``store/put_list.py``."""
        ...

    def remove_list(self, grant: Grant, name: str) -> None:
        """Removes a named list, if ``grant`` shows it, with the rights of the ingest user."""
        ...

    def read_searches(self, owner: str) -> list[SavedSearch]:
        """Returns the saved searches of an owner; see ``store/saved/searches.py``."""
        ...

    def find_search(self, owner: str, name: str) -> SavedSearch: ...

    def put_search(self, owner: str, name: str, search: Mapping[str, Any]) -> SavedSearch:
        """Saves a search with the rights of the ingest user."""
        ...

    def remove_search(self, owner: str, name: str) -> None: ...

    def open_records(self, grant: Grant) -> IngestRecords:
        """Returns the records of ingest, of which only those are told that ``grant`` shows."""
        ...

    def retry_lines(self, grant: Grant, file: str | None, line: str | None) -> RetryResult:
        """Parses the lines in quarantine again that ``grant`` shows: all, those of a file, or one."""
        ...

    def is_memory_short(self) -> bool:
        """Returns whether running queries hold more memory than they should."""
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

    ``queries`` admits the requests that read from the store and end by themselves, and ``watches`` the watches.
    ``limits`` are all limits. ``jobs`` are the queries that run on their own, and ``sessions`` those of browsers.
    """

    def __init__(
        self,
        services: QueryServices,
        tokens: KnownTokens,
        limits: RestLimits,
        settings: Settings | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        self.services, self.tokens, self.limits, self._settings = services, tokens, limits, settings
        self._stopping = stopping
        self.sessions = Sessions(tokens.is_in_force, limits.sessions)
        self.health = Health(lambda: len(services.read_sources(EVERYTHING)))
        self.clients = ClientWatcher(services.is_memory_short)
        self.queries, self.watches = QueryQueue(limits.for_queries), QueryQueue(limits.for_watches)
        self.jobs = JobStore(limits.jobs, limits.wait_seconds)
        self.log = QueryLog(None if settings is None else settings.home)
        state = StateCollector(self.count_slots, self.health.count_sources, lambda: tokens.damage, self.count_restarts)
        self.metrics = ServiceMetrics(state)
        self.asked_at = 0.0
        """When the last request came, by ``time.monotonic``."""

    def is_at_rest(self) -> bool:
        """Returns whether no query runs, and no request has come for ``REST_SECONDS``."""
        is_used = time.monotonic() - self.asked_at < REST_SECONDS
        return not (is_used or self.queries.count_slots(SlotState.RUNNING))

    @property
    def is_stopping(self) -> bool:
        """True once the service was told to stop: it still answers, and is to get no more requests."""
        return self._stopping is not None and self._stopping.is_set()

    def read_disk(self) -> DiskSpace | None:
        """Returns the room that is left for ingest on this machine; None if the store is elsewhere."""
        return None if self._settings is None else read_disk_space(self._settings)

    def count_restarts(self) -> dict[str, int]:
        """Returns how often the supervisor has started each server again that has died."""
        restarts = {} if self._settings is None else load_restarts(self._settings)
        return {name: entry.count for name, entry in restarts.items()}

    def count_slots(self) -> dict[tuple[str, str], int]:
        """Returns the number of requests that run, wait or are paused, by queue and state."""
        queues = {"queries": self.queries, "watches": self.watches}
        states = (SlotState.RUNNING, SlotState.WAITING, SlotState.PAUSED)
        return {(n, state.name.lower()): queue.count_slots(state) for n, queue in queues.items() for state in states}

    def bound_deadline(self, request: Bounded, is_watch: bool = False) -> Bounded:
        """Returns the request with a deadline of at most that of the limits."""
        longest = self.limits.watch_deadline if is_watch else self.limits.deadline
        if longest is None:
            return request
        return replace(request, deadline=min(request.deadline or longest, longest))
