"""Real logs in the store, and the same events as plain Python has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import jpype
import numpy as np
import pyarrow as pa
from jvm_support import start_jvm

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.load_result import LoadResult
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.ingest.queue.item import FILE_ID_BYTES, ITEM_ID_BYTES
from watchfloor.schema.definition import add_fields, parse_definition
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import Encoder
from watchfloor.store.layouts.block.block_encoder import BlockEncoder
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.store import Store

LAYOUTS = ("cell", "block")
BLOCK_ROWS = 200
"""Small, so that a few thousand events are many blocks."""


@dataclass(frozen=True)
class Loaded:
    """A source's events as its file has them, newest first."""

    source: Source
    events: list[dict[str, Any]]
    batch: pa.RecordBatch


def load(
    settings: Settings, *paths: Path, feed: str | None = None, workers: int = 1, again: bool = False
) -> LoadResult:
    """Loads files as ``watchfloor load`` does."""
    running = Load(settings, paths, feed, workers=workers, again=again)
    for _ in running:
        pass
    return running.result


def in_layout(store: Store, loaded: Loaded, layout: str) -> Loaded:
    """Writes a source's events in a layout, from items that overlap in time; ``zeek.conn`` becomes ``block.conn``.

    It goes past the queue: no worker need start for it.
    """
    name = f"{layout}.{loaded.source.name.partition('.')[2]}"
    source = store.catalog.register(parse_definition({**loaded.source.definition, "name": name, "layout": layout}))
    items = np.random.default_rng(1).integers(0, 3, len(loaded.batch))
    with store.sink() as sink:
        for item in range(3):
            some = loaded.batch.filter(pa.array(items == item))
            oldest_first = some.take(pa.array(range(len(some) - 1, -1, -1)))
            write(sink, source, item, oldest_first)
        sink.flush()
    split_tables(store, source)
    return Loaded(source, loaded.events, loaded.batch)


def split_tables(store: Store, source: Source, tablets: int = 6) -> None:
    """Splits the tables of a source at some of their rows, as a store does when tablets have grown."""
    operations, everything = store.connection.client.tableOperations(), Ranges()
    everything.add_rows(b"", None)
    for table in source_tables(source):
        batches = store.scan(EntryScan(table, everything))
        rows = sorted({row for batch in batches for row in batch.column("row").to_pylist()})
        points = jpype.JClass("java.util.TreeSet")()
        for row in rows[:: len(rows) // tablets + 1][1:]:
            points.add(jpype.JClass("org.apache.hadoop.io.Text")(jpype.JArray(jpype.JByte)(row)))
        if points.size():
            operations.addSplits(table, points)


def numbered(loaded: Loaded) -> Loaded:
    """The same with a field ``number``, counted from the newest: it tells each event from all others."""
    source = add_fields(loaded.source, [Field("number", FieldType.INT)])
    numbers = pa.array(range(len(loaded.batch)), pa.int64())
    batch = pa.RecordBatch.from_arrays([*loaded.batch.columns, numbers], names=[*loaded.batch.schema.names, "number"])
    events = [{**event, "number": number} for number, event in enumerate(loaded.events)]
    return Loaded(source, events, batch)


def write(sink: EntrySink, source: Source, item: int, events: pa.RecordBatch, block_rows: int = BLOCK_ROWS) -> None:
    """Writes the events of one work item, which is a file of its own, and its counts."""
    # Random in all their bytes, as those of real files are.
    file_id, item_id = (blake2b(b"%d" % item, digest_size=size).digest() for size in (FILE_ID_BYTES, ITEM_ID_BYTES))
    encoder: Encoder = find_layout(source).make_encoder(source, file_id, item_id)
    if source.layout == "block":
        encoder = BlockEncoder(source, file_id, item_id, block_rows)
    for entries in encoder.encode(events) + encoder.finish():
        (sink.write_rows if entries.wide else sink.write_entries)(entries.table, entries.batch)


def batch_of(source: Source, events: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Events as a parser hands them over; a field that an event lacks is null."""
    columns = [pa.array([event.get(f.name) for event in events], f.arrow) for f in source.fields]
    offsets = pa.array(range(0, 10 * len(events), 10), pa.int64())
    schema = source.arrow_schema.append(pa.field("(offset)", pa.int64()))
    return pa.RecordBatch.from_arrays([*columns, offsets], schema=schema)


def parse(path: Path, feed: str | None = None, known: dict[str, Source] | None = None) -> list[Loaded]:
    """The events of a file, straight from the parser, by source."""
    start_jvm()
    seen = dict(known or {})
    found = sniff_file(path, feed, seen)
    seen.update({source.name: source for source in found.sources})
    parser = open_parser(found.feed, found.header, lambda name, derive: seen.setdefault(name, derive()))
    batches: dict[str, list[pa.RecordBatch]] = {}
    sources: dict[str, Source] = {}
    for chunk in read_chunks(path):
        for source, batch in parser.parse(chunk).events:
            sources[source.name] = source
            batches.setdefault(source.name, []).append(batch)
    loaded = []
    for name, source in sources.items():
        batch = pa.concat_batches(batches[name]).sort_by([(source.time_field, "descending")])
        loaded.append(Loaded(source, batch.drop_columns("(offset)").to_pylist(), batch))
    return loaded


def write_hosts(store: Store, name: str, layout: str, events: Sequence[Mapping[str, Any]]) -> Source:
    """Writes events with a time, a number and an indexed address as three items, in small blocks of two shards."""
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "n", "type": "int"},
        {"name": "host", "type": "ip", "indexed": True, "ecs": "source.ip"},
    ]
    definition = {"name": name, "parser": {"format": "json"}, "timestamp": {"field": "ts"}}
    source = store.catalog.register(parse_definition({**definition, "fields": fields, "shards": 2, "layout": layout}))
    with store.sink() as sink:
        for item in range(3):
            write(sink, source, item, batch_of(source, events[item::3]), block_rows=25)
        sink.flush()
    return source
