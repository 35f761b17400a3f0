"""Real logs in the store, and the same events as plain Python has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from watchfloor.ingest.lines import read_chunks
from watchfloor.ingest.load import Load, LoadResult
from watchfloor.ingest.parsers import open_parser
from watchfloor.ingest.sniff import sniff
from watchfloor.schema.source import Source, parse_definition
from watchfloor.store.block_encoder import BlockEncoder
from watchfloor.store.settings import Settings
from watchfloor.store.store import Store

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


def as_blocks(store: Store, loaded: Loaded) -> Loaded:
    """Writes a source's events once more as blocks, small ones out of items that overlap in time.

    ``zeek.conn`` becomes ``blocks.conn``. It goes past the queue: no worker need start for it.
    """
    name = f"blocks.{loaded.source.name.partition('.')[2]}"
    source = parse_definition({**loaded.source.definition, "name": name, "layout": "block"})
    source = store.register(source)
    rows = len(loaded.batch)
    items = np.random.default_rng(1).integers(0, 3, rows)
    with store.sink() as sink:
        for item in range(3):
            encoder = BlockEncoder(source, b"%016d" % item, b"%08d" % item, BLOCK_ROWS)
            some = loaded.batch.filter(pa.array(items == item))
            writes = encoder.encode(some.take(pa.array(range(len(some) - 1, -1, -1)))) + encoder.finish()
            for write in writes:
                (sink.write_rows if write.wide else sink.write_entries)(write.table, write.batch)
        sink.flush()
    return Loaded(source, loaded.events, loaded.batch)


def parse(path: Path, feed: str | None = None, known: dict[str, Source] | None = None) -> list[Loaded]:
    """The events of a file, straight from the parser, by source."""
    seen = dict(known or {})
    found = sniff(path, feed, seen)
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
        loaded.append(Loaded(source, batch.drop_columns("_offset").to_pylist(), batch))
    return loaded
