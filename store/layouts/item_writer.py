"""Writes the events of one work item and, at its end, their counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import pyarrow as pa

from watchfloor.schema.coverage import lacks_index
from watchfloor.schema.source import Source
from watchfloor.store.layout import UNGUARDED, Encoder, GoneLines, SweepGuard, TableWrite
from watchfloor.store.store import Store

from .registry import find_layout


class WriteSink(Protocol):
    """Takes entries: an ``EntrySink``, a ``BulkSink``, or a stand-in in a measurement."""

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None: ...

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None: ...

    def write_ahead(self, table: str, batch: pa.RecordBatch) -> None:
        """Writes entries as ``write_entries`` does, durably at once."""

    def flush(self) -> None: ...


class ItemWriter:
    """Writes the events of one work item. Its methods raise ``StoreError``.

    The entries are a pure function of the events, ``file_id`` (16 bytes) and ``item_id`` (8 bytes). They are durable,
    and the events are counted, when ``finish`` has returned, or when the sink's ``flush`` has returned after the
    entries of ``encode_rest`` were put. An item that is read again needs ``replace_earlier`` between the two.
    """

    def __init__(self, sink: WriteSink, item_id: bytes, file_id: bytes, again: bool = False) -> None:
        """Sets up a writer of one item. ``again`` says that parts of the item may have been written before."""
        self._sink, self.item_id, self._file_id, self._again = sink, item_id, file_id, again
        self._encoders: dict[str, Encoder] = {}
        self._sources: dict[str, Source] = {}
        self.events = 0
        self.entries = 0

    def encode(self, source: Source, events: pa.RecordBatch) -> list[TableWrite]:
        """Returns entries of a batch and counts its events. Batches must come in the order of the file."""
        self.events += len(events)
        return self._encoder_of(source).encode(events)

    def put_writes(self, writes: list[TableWrite]) -> None:
        """Hands entries to the sink, and waits while it is full."""
        for write in writes:
            if write.ahead:
                self._sink.write_ahead(write.table, write.batch)
            elif write.wide:
                self._sink.write_rows(write.table, write.batch)
            else:
                self._sink.write_entries(write.table, write.batch)
            self.entries += write.entries

    def write_events(self, source: Source, events: pa.RecordBatch) -> None:
        """Encodes a batch and hands its entries to the sink."""
        self.put_writes(self.encode(source, events))

    def encode_rest(self) -> list[TableWrite]:
        """Returns the remaining entries when all events have been encoded, and those of the counts."""
        return [write for encoder in self._encoders.values() for write in encoder.finish()]

    def replace_earlier(self, store: Store, guard: SweepGuard = UNGUARDED) -> None:
        """Puts this reading's events in the place of earlier ones, after ``encode_rest``, if the item is read again.

        The sink's ``flush`` makes all of them durable.
        """
        for encoder in self._encoders.values():
            self.put_writes(encoder.replace_earlier(store, guard))

    def finish(self) -> tuple[int, int]:
        """Writes the rest, makes everything durable, and returns the numbers of events and of entries."""
        self.put_writes(self.encode_rest())
        self._sink.flush()
        return self.events, self.entries

    def lacks_index(self, now: Mapping[str, Source]) -> bool:
        """Returns whether the written events lack index entries that the definitions ``now`` ask for.

        These definitions must be read from the catalog after everything is durable. If entries are lacking, the item
        must be written again by them.
        """
        return any(name in now and lacks_index(source, now[name]) for name, source in self._sources.items())

    def sweep_earlier(
        self,
        store: Store,
        gone: GoneLines,
        sources: Iterable[Source] = (),
        guard: SweepGuard = UNGUARDED,
    ) -> None:
        """Removes the entries that an earlier reading of the item wrote and this reading did not write again.

        The entries of this reading must be durable by now, and the writer one of an item that is read again. ``gone``
        are the lines that are not events any more. ``sources`` are further sources to which the earlier reading may
        have written.
        """
        for source in sources:
            self._encoder_of(source)
        for encoder in self._encoders.values():
            guard.report()
            encoder.sweep_earlier(store, gone, guard)

    def _encoder_of(self, source: Source) -> Encoder:
        """Returns the encoder of a source, which is made at its first use."""
        encoder = self._encoders.get(source.name)
        if encoder is None:
            encoder = find_layout(source).make_encoder(source, self._file_id, self.item_id, self._again)
            self._encoders[source.name], self._sources[source.name] = encoder, source
        return encoder
