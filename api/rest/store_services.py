"""The services that REST requests use: queries, lists and the records of ingest, over connections to the store."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from watchfloor.api.records.ingest_records import IngestRecords
from watchfloor.api.records.seen_records import SeenRecords
from watchfloor.ingest.maintenance.retry import RetryResult, retry_lines
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StoreError
from watchfloor.schema.lists.list_file import ListValues
from watchfloor.schema.settings.settings import Role, Settings
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.grant import EVERYTHING, Grant
from watchfloor.store.bridge.connection import is_memory_short
from watchfloor.store.put_list import put_list, remove_list
from watchfloor.store.saved import searches
from watchfloor.store.saved.searches import SavedSearch
from watchfloor.store.store import Store
from watchfloor.store.value_lists import StoredList

COUNT_SECONDS = 30.0
"""The most seconds that counts, top values and timelines may take."""


class StoreServices:
    """Services over two connections to the store: queries with the rights of the query user, and what ingest records.

    Answers from counts fail after the seconds that bound the deadlines of queries, or after ``COUNT_SECONDS``.
    """

    def __init__(self, settings: Settings) -> None:
        self._count_seconds = min(settings.deadline_seconds or COUNT_SECONDS, COUNT_SECONDS)
        self._query, self._ingest = _StoreViews(settings, "query"), _StoreViews(settings, "ingest")

    def open_service(self, grant: Grant) -> QueryService:
        """Returns the query service that sees what ``grant`` lets through.

        Raises ``OperatorError`` while the store does not answer; the next call tries again.
        """
        return QueryService(self._query.open_view(grant), self._count_seconds)

    def read_sources(self, grant: Grant) -> Mapping[str, Source]:
        return self._query.open_view(grant).catalog.read_sources()

    def put_list(
        self, grant: Grant, name: str, values: ListValues, label: str | None, expires: int | None
    ) -> StoredList:
        return put_list(self._ingest.open_view(EVERYTHING), name, values, label, expires, grant.labels)

    def remove_list(self, grant: Grant, name: str) -> None:
        remove_list(self._ingest.open_view(EVERYTHING), name, grant.labels)

    def read_searches(self, owner: str) -> list[SavedSearch]:
        return searches.read_searches(self._query.open_view(Grant(labels=())), owner)

    def find_search(self, owner: str, name: str) -> SavedSearch:
        return searches.find_search(self._query.open_view(Grant(labels=())), owner, name)

    def put_search(self, owner: str, name: str, search: Mapping[str, Any]) -> SavedSearch:
        return searches.put_search(self._ingest.open_view(EVERYTHING), owner, name, search)

    def remove_search(self, owner: str, name: str) -> None:
        searches.remove_search(self._ingest.open_view(EVERYTHING), owner, name)

    def open_records(self, grant: Grant) -> IngestRecords:
        return IngestRecords(self._ingest.open_view(Grant(grant.labels)), grant)

    def retry_lines(self, grant: Grant, file: str | None, line: str | None) -> RetryResult:
        seen = SeenRecords(self._ingest.open_view(Grant(grant.labels)), grant)
        return retry_lines(self._ingest.open_view(EVERYTHING), file, line, seen.shows_line)

    def is_memory_short(self) -> bool:
        return is_memory_short()

    def close(self) -> None:
        self._query.close()
        self._ingest.close()


class _StoreViews:
    """A store connection of one role, opened at first use. Each grant in use has its own view of it.

    Labels are reduced to the labels that the role's Accumulo user has at that moment.
    """

    def __init__(self, settings: Settings, role: Role) -> None:
        self._settings = settings
        self._role: Role = role
        self._lock = threading.Lock()
        self._root: Store | None = None
        self._retired: Store | None = None
        self._stores: dict[Grant, Store] = {}
        self._closed = False

    def open_view(self, grant: Grant) -> Store:
        """Returns the store as ``grant`` lets it be seen."""
        with self._lock:
            if self._closed:
                raise StoreError("the service is stopping")
            root = self._root
            if root is None or root.connection.is_ending:
                root = self._replace_root(Store.open(self._settings, role=self._role))
        labels = root.choose_granted(grant.labels)
        view = Grant(labels, grant.sources)
        with self._lock:
            if view not in self._stores:
                self._stores[view] = root.with_authorizations(labels, grant.sources)
            return self._stores[view]

    def _replace_root(self, root: Store) -> Store:
        """Takes a new connection for new requests. Those that run go on with the old one, which the next one ends."""
        if self._retired is not None:
            self._retired.close()
        self._retired, self._root, self._stores = self._root, root, {}
        return root

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for store in (self._root, self._retired):
                if store is not None:
                    store.close()  # the others share its connection
            self._root = self._retired = None
            self._stores = {}
