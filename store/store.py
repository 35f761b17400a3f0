"""The store: one connection to Accumulo, its sources, and batches in and out.

Read ``writer.py`` for how events get in, ``layout.py`` for what a layout is, ``counts.py`` for the aggregates.
"""

from __future__ import annotations

import base64
import copy
import functools
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.coverage import awaits_start, completed, covering_all, with_indexes, with_start
from watchfloor.schema.errors import StoreError, UnknownSourceError, WatchfloorError
from watchfloor.schema.settings.settings import Role, Settings
from watchfloor.schema.source import Source, parse_definition
from watchfloor.store.bridge.jvm import visit
from watchfloor.store.bridge.sources import Connection, EntrySink, EntrySource, EventSource
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layouts.block.epochs.view import FRESH_SHARE, GRACE_SECONDS, View, read_view, views_of

from .admin import labels, tables
from .newest_event import newest_event
from .scans import MANY_REQUESTS, OpenScans

Iterators = Sequence[tuple[int, str, str, Mapping[str, str | bytes]]]
"""(priority, name, Java class, options); an option of bytes is sent in base64."""

_COSTS_ROW, _COSTS_FAMILY = b"\x00store", b"costs"
"""Where the catalog has what reading costs: in a row that no source's name is."""
_REGISTER_THREADS = 4
_ENTRIES = pa.schema([(name, pa.binary()) for name in ("row", "family", "qualifier", "visibility", "value")])


class Store:
    """An open store. ``role`` is whose rights are used: ``ingest`` writes, ``query`` can only read."""

    def __init__(self, settings: Settings, connection: Connection, user: str, authorizations: Sequence[str]) -> None:
        self.settings = settings
        self.connection = connection
        self.user = user
        self.authorizations = tuple(authorizations)
        self.grace = GRACE_SECONDS
        self._sources: dict[str, Source] = {}
        self._lock = threading.Lock()
        self._granting = threading.Lock()
        self._views: dict[str, View] = {}
        self._kept: dict[str, View] | None = None
        self._kept_since = 0.0
        self._costs: dict[str, dict[str, float]] = {}
        self._scans: OpenScans | None = None
        self.remembered: dict[Any, Any] | None = None
        """Of a snapshot, a layout's own: what it has read of the index of a source."""

    @classmethod
    def open(cls, settings: Settings, role: Role = "ingest", authorizations: Sequence[str] | None = None) -> Store:
        """Connects. ``authorizations`` None means all that the user has. Raises ``StoreError`` within seconds."""
        user, password = settings.credentials(role)
        connection = Connection.open(settings, user, password)
        try:
            if role == "ingest":
                tables.create_instance_tables(connection, [settings.credentials("query")[0]])
            if authorizations is None:
                authorizations = labels.read_user_labels(connection, user)
        except WatchfloorError:
            connection.close()
            raise
        except Exception as error:
            connection.close()
            raise StoreError(f"the store does not answer: {error}; see `watchfloor status`") from error
        return cls(settings, connection, user, authorizations)

    def with_authorizations(self, authorizations: Sequence[str]) -> Store:
        """The same connection, seeing only what these labels let through."""
        other = Store(self.settings, self.connection, self.user, authorizations)
        other.grace, other._views, other._costs = self.grace, self._views, self._costs
        return other

    def seeing_all_of(self, source: Source) -> Store:
        """The same connection, seeing every entry of a source: also by labels that were made after it was opened."""
        return self.with_authorizations(sorted({*self.authorizations, *labels.collect_labels(source)}))

    def snapshot(self) -> Store:
        """The same store for the reads of one query: of each source it sees the blocks that it saw first.

        A young snapshot is its own; of one that is seconds old there is another, which sees what is new. The scans of
        both are ended by ``end_scans``.
        """
        now = time.monotonic()
        if self._kept is not None and now - self._kept_since < self.grace * FRESH_SHARE:
            return self
        other = copy.copy(self)
        other._kept, other._kept_since, other.remembered = {}, now, {}
        other._scans = self._scans or OpenScans()
        return other

    def end_scans(self) -> None:
        """Of a snapshot: ends its scans at once, also those that are begun later. From any thread.

        Who waits for one of them gets a ``StoreError``.
        """
        if self._scans is not None:
            self._scans.end()

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Sources

    def sources(self) -> dict[str, Source]:
        """All sources of the catalog, by name, as they are now."""
        began = time.monotonic()
        entries = self.catalog()
        definitions = entries.filter(pc.equal(entries.column("family"), b""))
        columns = (definitions.column(name).to_pylist() for name in ("row", "value"))
        found = {name.decode(): _stored_source(name, definition) for name, definition in zip(*columns, strict=True)}
        views = views_of(entries, began)
        with self._lock:
            self._sources = found
            self._costs.update(_costs_of(entries))
            self._views.update({name: views.get(name.encode(), View(read_at=began)) for name in found})
        return dict(found)

    def source(self, name: str) -> Source:
        """A source as last seen; the catalog is read again for a name that is new."""
        found = self._sources.get(name)
        if found is None:
            known = self.sources()
            if name not in known:
                raise UnknownSourceError(name, known)
            found = known[name]
        return found

    def costs(self, layout: str) -> Mapping[str, float]:
        """What reading by a layout costs on this store, by name, as last seen; nothing if it was never measured."""
        return self._costs.get(layout, {})

    def put_costs(self, layout: str, costs: Mapping[str, float]) -> None:
        """Keeps what was measured, for all clients: those that are running see it when they next read the catalog."""
        self.put(tables.SOURCES_TABLE, [(_COSTS_ROW, _COSTS_FAMILY, layout.encode(), json.dumps(dict(costs)).encode())])
        self._costs[layout] = dict(costs)

    def register(self, source: Source) -> Source:
        """Puts a source in the catalog and makes its tables; one that is there gets the fields that it lacks.

        A new one that does not say how many shards it wants gets as many as the settings say. Its layout is written
        down, said or not: both stay as they are once the source is there. A field that is indexed, or reversed, by
        ``source`` and not yet in the catalog becomes so; its ``indexed_from`` says for which events
        (``schema/coverage.py``). No index ends. Doing it again changes nothing. Raises ``StoreError``.
        """
        wanted = covering_all(source)
        return self._change(source.name, lambda known: self._next_step(known, wanted))

    def complete_indexes(self, source: Source) -> Source:
        """Writes down that the indexes which a source had when it was ``source`` know all its events by now."""

        def step(known: Source | None) -> Source:
            if known is None:
                raise UnknownSourceError(source.name, self._sources)
            return completed(known, source)

        return self._change(source.name, step)

    def _change(self, source: str, step: Callable[[Source | None], Source]) -> Source:
        """Takes steps from the definition in the catalog (None if there is none) until it stays as it is."""
        name = source.encode()
        while True:
            entries = self.catalog(source)
            written = entries.column("value").filter(pc.equal(entries.column("family"), b"")).to_pylist()
            known = _stored_source(name, written[0]) if written else None
            stored = step(known)
            if stored == known:
                with self._lock:
                    self._sources[source] = stored
                return stored
            self._make_tables(stored)
            # Lost if another has changed the definition: then what is to be done is seen anew.
            before = written[0] if written else None
            self.swap(tables.SOURCES_TABLE, (name, b"", b""), before, stored.to_json().encode())

    def _next_step(self, known: Source | None, wanted: Source) -> Source:
        """What a definition is changed to next, on its way to ``wanted``; as it is if nothing is left to do."""
        if known is None:
            new = wanted.with_layout(wanted.layout)
            return new if "shards" in wanted.definition else new.with_shards(self.settings.shards)
        wider = with_indexes(known.with_fields(list(wanted.fields)), wanted.fields)
        if wider != known or not awaits_start(known):
            return wider
        # Looked for when the index is in the definition, and not before: see ``schema/coverage.py``.
        newest = newest_event(self, known)
        return with_start(known, 0 if newest is None else newest + 1)

    def _make_tables(self, source: Source) -> None:
        readers = [self.settings.credentials("query")[0]]
        try:
            tables.create_source_tables(self.connection, source, readers)
            with self._granting:  # a user's labels are read and then written whole
                labels.grant_labels(self.connection, [self.user, *readers], labels.collect_labels(source))
        except Exception as error:
            raise StoreError(f"cannot make the tables of {source.name}: {error}") from error

    def register_all(self, sources: Iterable[Source]) -> None:
        """Registers several sources, a few at a time: each waits for the manager more than it works."""
        with ThreadPoolExecutor(_REGISTER_THREADS) as pool:
            list(pool.map(visit()(self.register), sources))

    def catalog(self, name: str | None = None) -> pa.RecordBatch:
        """The entries of one source in the catalog, or of all."""
        ranges = Ranges()
        if name is None:
            ranges.add_rows(b"", None)
        else:
            ranges.add_row(name.encode())
        batches = list(self.scan(tables.SOURCES_TABLE, ranges))
        return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema=_ENTRIES)

    def view_of(self, source: Source) -> View:
        """Which of a source's blocks a query sees: at most seconds old, and of a snapshot always the same."""
        if self._kept is not None and source.name in self._kept:
            return self._kept[source.name]
        view = self._views.get(source.name)
        if view is None or view.age > self.grace * FRESH_SHARE:
            view = self._views[source.name] = read_view(self, source.name)
        return view if self._kept is None else self._kept.setdefault(source.name, view)

    # Entries in and out

    def sink(self) -> EntrySink:
        """A sink for entries; one per thread that writes."""
        s = self.settings
        return EntrySink(self.connection, s.sink_memory_mb << 20, s.sink_threads, s.sink_latency_ms)

    def put(self, table: str, entries: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> None:
        """Writes a few (row, family, qualifier, value) entries, durably."""
        names = ("row", "family", "qualifier", "value")
        columns = [pa.array(column, pa.binary()) for column in zip(*entries, strict=True)]
        with self.sink() as sink:
            sink.write_entries(table, pa.RecordBatch.from_arrays(columns, names=names))
            sink.flush()

    def swap(self, table: str, cell: tuple[bytes, bytes, bytes], expected: bytes | None, value: bytes) -> bool:
        """Writes a cell (row, family, qualifier) if its value is ``expected`` (None: if there is none); whether so."""
        return self.connection.swap(table, *cell, expected, value)

    def scan(
        self,
        table: str,
        ranges: Ranges,
        iterators: Iterators = (),
        ordered: bool = True,
        batch_rows: int = 4096,
        requests: int = MANY_REQUESTS,
    ) -> Iterator[pa.RecordBatch]:
        """Entries in ``ranges`` as batches of row, family, qualifier, visibility, value."""
        with self.begin_scan(table, ranges, iterators, ordered, batch_rows, requests) as batches:
            yield from batches

    def begin_scan(
        self,
        table: str,
        ranges: Ranges,
        iterators: Iterators = (),
        ordered: bool = True,
        batch_rows: int = 4096,
        requests: int = MANY_REQUESTS,
    ) -> AbstractContextManager[Iterable[pa.RecordBatch]]:
        """The same; what is read comes ahead from now on, so that several scans may run at once.

        What is not ``ordered`` is read by so many ``requests`` at once, or one a tablet server if these are more. For
        little, one a server is soonest: each costs client and server a millisecond of work.
        """
        if not len(ranges):
            return nullcontext(())
        settings = [_iterator_setting(*iterator) for iterator in iterators]
        return self._opened(
            EntrySource(
                self.connection,
                table,
                self.authorizations,
                ranges.batch(),
                settings,
                batch_rows,
                requests,
                ordered,
            )
        )

    def begin_events(
        self,
        reader: str,
        table: str,
        ranges: Ranges,
        program: bytes | None,
        time_field: str,
        columns: Mapping[str, str],
        first_rows: int,
        batch_rows: int,
        ordered: bool,
        requests: int = MANY_REQUESTS,
        most: int | None = None,
    ) -> AbstractContextManager[Iterable[pa.RecordBatch]]:
        """Events in ``ranges`` that satisfy ``program``: the row and a column per wanted field; read ahead from now on.

        ``reader``: the Java class by which a layout's answers are read; ``columns``: their names and what they come as,
        see ``values.comes_as``; ``requests`` as of ``begin_scan``. If a row is a block of events ``first_rows`` and
        ``batch_rows`` count blocks, and of each come its newest ``most`` events.
        """
        if not len(ranges):
            return nullcontext(())
        return self._opened(
            EventSource(
                self.connection,
                reader,
                table,
                self.authorizations,
                ranges.batch(),
                columns,
                program,
                time_field,
                first_rows,
                batch_rows,
                requests,
                ordered,
                most,
            )
        )

    def _opened(self, scan: EntrySource | EventSource) -> AbstractContextManager[Iterable[pa.RecordBatch]]:
        return scan if self._scans is None else self._scans.opened(scan)


def _costs_of(entries: pa.RecordBatch) -> dict[str, dict[str, float]]:
    found = entries.filter(pc.equal(entries.column("family"), _COSTS_FAMILY))
    columns = (found.column(name).to_pylist() for name in ("qualifier", "value"))
    return {layout.decode(): json.loads(costs) for layout, costs in zip(*columns, strict=True)}


@functools.lru_cache(maxsize=4096)
def _stored_source(name: bytes, definition: bytes) -> Source:
    """A row of the catalog; kept, because the catalog is read often and its rows seldom change."""
    source = parse_definition(definition, f"stored definition of {name.decode()}")
    # One without a layout is from before blocks were the default: its events are in cells.
    return source if "layout" in source.definition else source.with_layout("cell")


def _iterator_setting(priority: int, name: str, java_class: str, options: Mapping[str, Any]) -> list[str]:
    setting = [str(priority), name, java_class]
    for key, value in options.items():
        setting += [key, base64.b64encode(value).decode() if isinstance(value, bytes) else value]
    return setting
