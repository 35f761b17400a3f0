"""The catalog of sources as parsers use it: known sources at once, new ones registered on the way."""

from __future__ import annotations

from collections.abc import Callable

from watchfloor.schema.definition import add_fields
from watchfloor.schema.errors import UnknownSourceError
from watchfloor.schema.source import Source
from watchfloor.store.store import Store


class SourceResolver:
    """Resolves the sources of a parser.

    It caches the sources that it has read, and serves one work item only, so that definitions are fresh.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known = store.catalog.read_sources()

    def __call__(self, name: str, derive: Callable[[], Source]) -> Source:
        """Returns the catalogued source ``name``; registers it if it is new or lacks fields. Raises ``StoreError``."""
        known = self._known.get(name)
        try:
            derived = derive()
        except UnknownSourceError:  # nothing ships under this name, so only the catalog can know it
            if known is None:
                raise
            return known
        if known is None or any(field.name not in known.fields_by_name for field in derived.fields):
            # Only fields are added: people decide which known fields are indexed.
            known = self._store.catalog.register(add_fields(known, derived.fields) if known else derived)
            self._known[name] = known
        return known
