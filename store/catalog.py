"""The catalog: the definitions of all sources, and what reading costs, in a table that all clients share."""

from __future__ import annotations

import copy
import functools
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.coverage import (
    add_sightings,
    complete_indexes,
    cover_all,
    cover_from,
    has_started_index,
    start_indexes,
)
from watchfloor.schema.definition import add_fields, parse_definition
from watchfloor.schema.errors import StoreError, UnknownSourceError
from watchfloor.schema.filter.value_list import ValueList
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import SOURCES_TABLE
from watchfloor.store.bridge.connection import Cell
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.ranges import Ranges

from .newest_event import newest_event
from .reader import CatalogRow, Reader
from .value_lists import find_list

DEFINITION_FAMILY, IMPORT_FAMILY = b"", b"import"
"""Families of a source's row: its definition, and the claim of a process that imports it from a backup."""
# Measured costs of reading stand in a row whose name no source can have.
_COSTS_ROW, _COSTS_FAMILY = b"\x00store", b"costs"
_REGISTER_THREADS = 4
_ENTRIES = pa.schema([(name, pa.binary()) for name in ("row", "family", "qualifier", "visibility", "value")])


_Restriction = Callable[[dict[str, Source]], dict[str, Source]]


class _CatalogStore(Reader, Protocol):
    """The part of ``Store`` that the catalog needs."""

    def put(self, table: str, entries: list[tuple[bytes, bytes, bytes, bytes]]) -> None: ...

    def swap(self, table: str, cell: Cell, expected: bytes | None, value: bytes) -> bool: ...

    def seeing_all_of(self, source: Source) -> Reader: ...

    def make_tables(self, source: Source) -> None: ...

    @property
    def default_shards(self) -> int: ...


@dataclass
class _LastRead:
    """The last reading of the catalog, shared by all users of a connection.

    ``rows`` has the entries by source, ``everything`` those of all sources if they were read at once, and ``costs`` the
    measured costs by layout.
    """

    rows: dict[str, CatalogRow] = field(default_factory=dict)
    everything: CatalogRow | None = None
    costs: dict[str, dict[str, float]] = field(default_factory=dict)


class Catalog:
    """Reads and changes the definitions of sources. Safe to use from several threads."""

    def __init__(self, store: _CatalogStore, restrict: _Restriction = dict, shared: Catalog | None = None) -> None:
        """Shares the last reading with ``shared``, a catalog of the same connection with other authorizations.

        ``read_sources`` and ``find_source`` know only what ``restrict`` leaves of all sources.
        """
        self._store = store
        self._reader: Reader = store
        self._restrict = restrict
        self._lock = threading.Lock()
        self._sources: dict[str, Source] = {}
        self._last_read: _LastRead = shared._last_read if shared is not None else _LastRead()

    def read_through(self, reader: Reader) -> Catalog:
        """Returns a copy of this catalog that reads by a snapshot, so that its reads end with the snapshot's scans."""
        other = copy.copy(self)
        other._reader = reader
        return other

    def read_sources(self) -> dict[str, Source]:
        """Reads the definitions of all sources that the catalog shows, by name."""
        began = time.monotonic()
        entries = self._read_entries(None)
        definitions = entries.filter(pc.equal(entries.column("family"), DEFINITION_FAMILY))
        columns = (definitions.column(name).to_pylist() for name in ("row", "value"))
        found = {name.decode(): _parse_stored(name, definition) for name, definition in zip(*columns, strict=True)}
        found = self._restrict(found)
        with self._lock:
            self._sources.clear()
            self._sources.update(found)
            self._last_read.costs.update(_parse_costs(entries))
            self._last_read.rows.clear()
            self._last_read.everything = CatalogRow(entries, began)
        return found

    def find_source(self, name: str) -> Source:
        """Returns a source from the last reading. If the name is not in it, the catalog is read again.

        Raises ``UnknownSourceError`` if the catalog does not have or does not show the source.
        """
        found = self._sources.get(name)
        if found is None:
            known = self.read_sources()
            if name not in known:
                raise UnknownSourceError(name, known)
            found = known[name]
        return found

    def find_list(self, name: str, version: int | None = None) -> ValueList:
        """Returns a version of a named list (None: the one in force); see ``value_lists.find_list``."""
        return find_list(self._reader, name, version)

    def read_row(self, name: str, max_age: float = 0.0) -> CatalogRow:
        """Returns a source's entries, as they were read at most ``max_age`` seconds ago."""
        now = time.monotonic()
        with self._lock:
            row, everything = self._last_read.rows.get(name), self._last_read.everything
            if row is None and everything is not None and now - everything.read_at <= max_age:
                own = everything.entries.filter(pc.equal(everything.entries.column("row"), name.encode()))
                row = self._last_read.rows[name] = CatalogRow(own, everything.read_at)
        if row is None or now - row.read_at > max_age:
            row = CatalogRow(self._read_entries(name), now)
            with self._lock:
                self._last_read.rows[name] = row
        return row

    def find_costs(self, layout: str) -> Mapping[str, float]:
        """Returns the costs of reading a layout on this store, from the last reading; empty if never measured."""
        return self._last_read.costs.get(layout, {})

    def put_costs(self, layout: str, costs: Mapping[str, float]) -> None:
        """Stores measured costs for all clients. A running client sees them when it next reads the catalog."""
        value = json.dumps(dict(costs)).encode()
        self._store.put(SOURCES_TABLE, [(_COSTS_ROW, _COSTS_FAMILY, layout.encode(), value)])
        self._last_read.costs[layout] = dict(costs)

    def register(self, source: Source, is_redefined: bool = False) -> Source:
        """Puts a source in the catalog and makes its tables; adds missing fields to a source that is there already.

        A new source whose definition names no number of shards gets the number in the settings. Its layout is stored
        even if the definition names none: layout and shards never change afterwards. An index, or an index of reversed
        values, that ``source`` has and the catalog lacks is added; the field's ``indexed_from`` says for which events
        (``schema/coverage.py``). So are sightings of indexed fields that have a kind. No index is ever removed. A field
        without an ECS name gets that of ``source``. With ``is_redefined`` one that has another gets it too, and the
        title and the rules for reading are those of ``source``. Registering again changes nothing. Returns the stored
        source. Raises ``StoreError``.
        """
        wanted = add_sightings(cover_all(source))

        def step(known: Source | None) -> Source:
            if is_redefined and known is not None:
                known = known.adopt_ecs_names(wanted.fields, replaced=True).replace_rules(wanted)
            return self._next_step(known, wanted)

        return self._change_source(source.name, step)

    def register_all(self, sources: Iterable[Source]) -> None:
        """Registers several sources, a few at the same time, because each mostly waits for Accumulo's manager."""
        with JavaThreadPool(_REGISTER_THREADS) as pool:
            list(pool.map(self.register, sources))

    def complete_indexes(self, source: Source) -> Source:
        """Stores that the indexes of ``source`` cover all its events, and returns the stored source.

        ``source`` is the definition when the backfill began: indexes that were added since stay as they are. Raises
        ``UnknownSourceError``.
        """

        def complete(known: Source | None) -> Source:
            if known is None:
                raise UnknownSourceError(source.name, self._sources)
            return complete_indexes(known, source)

        return self._change_source(source.name, complete)

    def _change_source(self, name: str, step: Callable[[Source | None], Source]) -> Source:
        """Applies ``step`` to the stored definition (None if there is none) until it changes nothing any more."""
        while True:
            entries = self._read_entries(name)
            written = entries.column("value").filter(pc.equal(entries.column("family"), DEFINITION_FAMILY)).to_pylist()
            known = _parse_stored(name.encode(), written[0]) if written else None
            stored = step(known)
            if stored == known:
                with self._lock:
                    self._sources[name] = stored
                return stored
            if pc.any(pc.equal(entries.column("family"), IMPORT_FAMILY)).as_py():
                raise StoreError(
                    f"{name} is being imported: wait for `watchfloor import`, or run it again if it broke off"
                )
            self._store.make_tables(stored)
            # The swap fails if another client has changed the definition: then the step is decided anew.
            before = written[0] if written else None
            self._store.swap(SOURCES_TABLE, (name.encode(), DEFINITION_FAMILY, b""), before, stored.to_json().encode())

    def _next_step(self, known: Source | None, wanted: Source) -> Source:
        """Returns the next definition on the way from ``known`` to ``wanted``; ``known`` if nothing is left to do."""
        if known is None:
            new = wanted.replace_layout(wanted.layout)
            return new if "shards" in wanted.definition else new.replace_shards(self._store.default_shards)
        wider = start_indexes(add_fields(known, wanted.fields), wanted.fields)
        # A field may have had its kind or its index before, and not in ``wanted``.
        wider = start_indexes(wider, add_sightings(wider).fields)
        if wider != known or not has_started_index(known):
            return wider
        # The newest event is read only after the index is in the stored definition: see ``schema/coverage.py``.
        newest = newest_event(self._store.seeing_all_of(known), known)
        return cover_from(known, 0 if newest is None else newest + 1)

    def _read_entries(self, name: str | None) -> pa.RecordBatch:
        """Reads the entries of one source, or of all with None."""
        ranges = Ranges()
        if name is None:
            ranges.add_rows(b"", None)
        else:
            ranges.add_row(name.encode())
        batches = list(self._reader.scan(EntryScan(SOURCES_TABLE, ranges)))
        return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema=_ENTRIES)


def _parse_costs(entries: pa.RecordBatch) -> dict[str, dict[str, float]]:
    """Returns the measured costs by layout."""
    found = entries.filter(pc.equal(entries.column("family"), _COSTS_FAMILY))
    columns = (found.column(name).to_pylist() for name in ("qualifier", "value"))
    return {layout.decode(): json.loads(costs) for layout, costs in zip(*columns, strict=True)}


# Cached, because the catalog is read often and its rows seldom change.
@functools.lru_cache(maxsize=4096)
def _parse_stored(name: bytes, definition: bytes) -> Source:
    """Returns the source of a row of the catalog."""
    source = parse_definition(definition, f"stored definition of {name.decode()}")
    # A definition without a layout was stored before blocks became the default: its events are in cells.
    return source if "layout" in source.definition else source.replace_layout("cell")
