"""The services that REST requests use: queries, lists and the records of ingest, over connections to the store."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from watchfloor.api.records.ingest_records import IngestRecords
from watchfloor.ingest.maintenance.retry import RetryResult, retry_lines
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StoreError
from watchfloor.schema.lists.list_file import ListValues
from watchfloor.schema.settings.settings import Role, Settings
from watchfloor.schema.source import Source
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

    def open_service(self, authorizations: tuple[str, ...] | None) -> QueryService:
        """Returns the query service that sees what ``authorizations`` let through; None stands for all of the user's.

        Raises ``OperatorError`` while the store does not answer; the next call tries again.
        """
        return QueryService(self._query.open_view(authorizations), self._count_seconds)

    def read_sources(self, authorizations: tuple[str, ...] | None) -> Mapping[str, Source]:
        return self._query.open_view(authorizations).catalog.read_sources()

    def put_list(self, name: str, values: ListValues, label: str | None, expires: int | None) -> StoredList:
        return put_list(self._ingest.open_view(None), name, values, label, expires)

    def remove_list(self, name: str) -> None:
        remove_list(self._ingest.open_view(None), name)

    def read_searches(self, owner: str) -> list[SavedSearch]:
        return searches.read_searches(self._query.open_view(()), owner)

    def find_search(self, owner: str, name: str) -> SavedSearch:
        return searches.find_search(self._query.open_view(()), owner, name)

    def put_search(self, owner: str, name: str, search: Mapping[str, Any]) -> SavedSearch:
        return searches.put_search(self._ingest.open_view(None), owner, name, search)

    def remove_search(self, owner: str, name: str) -> None:
        searches.remove_search(self._ingest.open_view(None), owner, name)

    def open_records(self, authorizations: tuple[str, ...] | None) -> IngestRecords:
        """Returns the records of ingest; of lines in quarantine they have what ``authorizations`` let through."""
        return IngestRecords(self._ingest.open_view(authorizations))

    def retry_lines(self, file: str | None, line: str | None) -> RetryResult:
        return retry_lines(self._ingest.open_view(None), file, line)

    def is_memory_short(self) -> bool:
        return is_memory_short()

    def close(self) -> None:
        self._query.close()
        self._ingest.close()


class _StoreViews:
    """A store connection of one role, opened at first use. Each set of labels in use has its own view of it.

    Authorizations are reduced to the labels that the role's Accumulo user has at that moment.
    """

    def __init__(self, settings: Settings, role: Role) -> None:
        self._settings = settings
        self._role: Role = role
        self._lock = threading.Lock()
        self._root: Store | None = None
        self._stores: dict[tuple[str, ...], Store] = {}
        self._closed = False

    def open_view(self, authorizations: tuple[str, ...] | None) -> Store:
        """Returns the store as ``authorizations`` let it be seen; None stands for all labels of the user."""
        with self._lock:
            if self._closed:
                raise StoreError("the service is stopping")
            if self._root is None:
                self._root = Store.open(self._settings, role=self._role)
            root = self._root
        labels = root.choose_granted(authorizations)
        with self._lock:
            if labels not in self._stores:
                self._stores[labels] = root.with_authorizations(labels)
            return self._stores[labels]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._root is not None:
                self._root.close()  # the others share its connection
            self._root, self._stores = None, {}
