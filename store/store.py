"""The store: one connection to Accumulo, and entries in and out.

Read ``catalog.py`` for its sources, ``snapshot.py`` for what one query sees, ``layout.py`` for how events are stored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from watchfloor.schema.errors import StoreError, WatchfloorError
from watchfloor.schema.settings.settings import Role, Settings
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.grant import fits_patterns
from watchfloor.schema.visibility.restrict import restrict_sources
from watchfloor.store.bridge.connection import Cell, Connection
from watchfloor.store.bridge.requests import EntryScan, EventScan
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bridge.streams import EntryStream, EventStream

from .admin import labels, tables
from .admin.format_version import check_format, write_format
from .admin.server_iterators import check_iterators
from .admin.user_labels import UserLabels
from .catalog import Catalog
from .reader import CatalogRow, Slot
from .runtime.disk_space import read_disk_space
from .snapshot import GRACE_SECONDS, Snapshot

T = TypeVar("T")


class Store:
    """An open store, which is a ``Reader`` too. ``authorizations`` are the labels with which it reads.

    Its catalog shows only the sources that fit one of the patterns ``sources`` (None: all), and in the role ``query``
    only what the labels let through.
    """

    def __init__(
        self,
        settings: Settings,
        connection: Connection,
        user: str,
        authorizations: Sequence[str],
        role: Role = "ingest",
        sources: Sequence[str] | None = None,
    ) -> None:
        self.settings = settings
        self.connection = connection
        self.user = user
        self.authorizations = tuple(authorizations)
        self.grace = GRACE_SECONDS
        self.role: Role = role
        self.sources = sources
        self.catalog = Catalog(self, self._restrict_sources)
        self._granting = threading.Lock()
        self._lasting: dict[Slot[Any], Any] = {}
        self._user_labels = UserLabels(lambda: labels.read_user_labels(connection, user), authorizations)

    @classmethod
    def open(cls, settings: Settings, role: Role = "ingest", authorizations: Sequence[str] | None = None) -> Store:
        """Connects with the rights of a role: ``ingest`` writes, ``query`` can only read.

        With ``authorizations`` None the store reads with all labels of the user. Raises ``StoreError`` within seconds,
        also if the servers have another version of the iterators.
        """
        credentials = settings.read_credentials(role)
        connection = Connection.open(settings, credentials)
        try:
            if role == "ingest":
                tables.create_instance_tables(connection, [settings.read_credentials("query").user])
            check_iterators(settings, connection)
            check_format(connection)
            if role == "ingest":
                write_format(connection)
            if authorizations is None:
                authorizations = labels.read_user_labels(connection, credentials.user)
        except WatchfloorError:
            connection.close()
            raise
        except Exception as error:
            connection.close()
            raise StoreError(f"the store does not answer: {error}; see `watchfloor status`") from error
        return cls(settings, connection, credentials.user, authorizations, role)

    def with_authorizations(self, authorizations: Sequence[str], sources: Sequence[str] | None = None) -> Store:
        """Returns a store with the same connection that sees only what these labels let through, of these sources."""
        other = Store(self.settings, self.connection, self.user, authorizations, self.role, sources)
        other.grace = self.grace
        other.catalog = Catalog(other, other._restrict_sources, self.catalog)
        return other

    def choose_granted(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """Returns those of the labels ``wanted`` that the user has now, sorted; with None all of them.

        A label that the user was granted is known within about a second. The store refuses whoever asks for a label
        that the user lacks.
        """
        granted = self._user_labels.get_labels()
        return tuple(sorted(granted if wanted is None else granted.intersection(wanted)))

    def _restrict_sources(self, known: dict[str, Source]) -> dict[str, Source]:
        """Returns what the catalog shows of the sources ``known``."""
        fitting = {name: source for name, source in known.items() if fits_patterns(name, self.sources)}
        return restrict_sources(fitting, self.authorizations) if self.role == "query" else fitting

    def seeing_all_of(self, *sources: Source) -> Store:
        """Returns a store with the same connection that sees every entry of sources.

        That includes entries with labels which were granted after this store was opened.
        """
        granted = set(self.authorizations).union(*map(labels.collect_labels, sources))
        return self.with_authorizations(sorted(granted))

    def check_room(self, size: int = 0) -> None:
        """Raises ``NoRoomError`` if the disk of the local stack has too little room for a write of ``size`` bytes."""
        if space := read_disk_space(self.settings):
            space.check_room(size)

    def snapshot(self) -> Snapshot:
        """Returns a reader for one query, which sees the same state of each source all the time."""
        return Snapshot(self)

    def close(self) -> None:
        self._user_labels.close()
        self.connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def scan(self, request: EntryScan) -> Iterator[pa.RecordBatch]:
        """Returns entries as batches of row, family, qualifier, visibility and value."""
        with self.begin_scan(request) as batches:
            yield from batches

    def begin_scan(self, request: EntryScan) -> EntryStream:
        """Begins a scan for entries. It reads ahead from now on, so that several scans may run at once."""
        return EntryStream(self.connection, self.authorizations, request)

    def begin_events(self, request: EventScan) -> EventStream:
        """Begins a scan for events, which reads ahead: batches of the row and a column per field of the request."""
        return EventStream(self.connection, self.authorizations, request)

    def read_catalog_row(self, source: str, max_age: float = 0.0) -> CatalogRow:
        """Returns a source's entries in the catalog, as they were read at most ``max_age`` seconds ago."""
        return self.catalog.read_row(source, max_age)

    def get_slot(self, slot: Slot[T]) -> T:
        """Returns a new value each time: only a snapshot keeps the values of slots."""
        return slot.make()

    def get_lasting(self, slot: Slot[T]) -> T:
        """Returns the value of a slot that this store keeps, for all queries with its authorizations."""
        # One step, so that two threads never keep different values.
        value: T = self._lasting.setdefault(slot, slot.make())
        return value

    def sink(self) -> EntrySink:
        """Returns a sink for entries; each thread that writes needs its own."""
        s = self.settings
        return EntrySink(self.connection, s.sink_memory_mb << 20, s.sink_threads, s.sink_latency_ms)

    def put(self, table: str, entries: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> None:
        """Writes a few (row, family, qualifier, value) entries, durably."""
        names = ("row", "family", "qualifier", "value")
        columns = [pa.array(column, pa.binary()) for column in zip(*entries, strict=True)]
        with self.sink() as sink:
            sink.write_entries(table, pa.RecordBatch.from_arrays(columns, names=names))
            sink.flush()

    def swap(self, table: str, cell: Cell, expected: bytes | None, value: bytes) -> bool:
        """Writes an entry durably if its value is ``expected`` (None: if it does not exist). Returns whether it did."""
        return self.connection.swap(table, cell, expected, value)

    def write_if(self, table: str, cell: Cell, expected: bytes | None, qualifier: bytes, value: bytes) -> bool:
        """Writes an entry of the row and family of ``cell`` durably if that has the value ``expected``, as ``swap``."""
        return self.connection.write_if(table, cell, expected, qualifier, value)

    @property
    def default_shards(self) -> int:
        """The number of shards of a source whose definition names none."""
        return self.settings.shards

    def make_tables(self, source: Source, zones: bool = True) -> None:
        """Makes the tables of a source that are missing and grants its labels to both users. Raises ``StoreError``.

        ``zones`` says that all blocks that will be in the tables have zones.
        """
        readers = [self.settings.read_credentials("query").user]
        try:
            tables.create_source_tables(self.connection, source, readers, self.settings.erasure_coding, zones)
            self.grant_labels(labels.collect_labels(source))
        except StoreError as error:
            raise StoreError(f"cannot make the source {source.name}: {error}") from error
        except Exception as error:
            raise StoreError(f"cannot make the tables of {source.name}: {error}") from error

    def grant_labels(self, granted: set[str]) -> None:
        """Grants labels to the users of both roles, who keep the labels that they have."""
        readers = [self.settings.read_credentials("query").user]
        with self._granting:  # A grant reads all labels of a user and writes them back with the new ones.
            labels.grant_labels(self.connection, [self.user, *readers], granted)
