"""A bulk load writes what the encoder made, and it is found like a live one.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import gzip
import json
import random
import secrets
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from block_store import BlockStore
from bulk_loads import folders, patiently, stored
from ingest_support import START, counts, exactly, line, load, log_file, own, source

from watchfloor.ingest.files.file_scan import WHOLE, items_of, scan_file
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.reading import parts
from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.bulk import bulk_sink
from watchfloor.store.bulk.bulk_sink import BulkSink
from watchfloor.store.encoding import key_order
from watchfloor.store.layout import TableWrite
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LAYOUTS = ("cell", "block")


def quiet(done: int, events: int, quarantined: int) -> None:
    pass


def item_of(path: Path, kind: Source) -> WorkItem:
    (item,) = items_of(scan_file(path, WHOLE), str(path), kind.name, b"", secrets.token_hex(8))
    return item


class Recorder(BlockStore):
    """A sink that keeps what it is given."""

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        self.put([TableWrite(table, batch, True, 0)])

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        self.put([TableWrite(table, batch, False, 0)])

    def flush(self) -> None:
        pass


WIDE = (
    {"name": "row", "type": "string"},
    {"name": "tags", "type": "list", "items": "string", "indexed": True, "visibility": "red"},
    {"name": "size", "type": "float", "indexed": True},
)


def mixed_file(path: Path, lines: int) -> Path:
    """Events out of order over three days, with and without each field, some with nothing but their time."""
    draw = random.Random(7)
    texts = []
    for number in range(lines):
        event: dict[str, object] = {"ts": START + draw.randrange(3 * 86400) + draw.randrange(4) / 4}
        choices = {
            "host": f"h{draw.randrange(40)}" * draw.choice((1, 400)),
            "n": draw.randrange(-3, 3),
            "text": f"{number}\u00ff",
            "row": "r",
            "tags": draw.sample(["a", "", "b\u0000", "c"], 3),
            "size": draw.random() - 0.5,
        }
        event.update((name, value) for name, value in choices.items() if draw.random() < 0.6)
        texts.append(json.dumps(event) + "\n")
    path.write_text("".join(texts))
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_hold_what_the_encoder_made(
    layout: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Then the item is read by BatchWriters, and in bulk once more: they write the same."""
    kind = store.catalog.register(source(f"same{layout}", extra=WIDE, layout=layout))
    item = item_of(mixed_file(tmp_path / "a.log", 1500), kind)
    recorder = Recorder(kind)
    monkeypatch.setattr(bulk_sink, "BUFFER_BYTES", 200_000)
    monkeypatch.setattr(key_order, "SLICE_BYTES", 20_000)
    with store.sink() as sink:
        assert read_item(ReadTask(store, sink, item, quiet, event_sink=recorder)).events == 1500
        with BulkSink(store, patiently) as events_to:
            assert read_item(ReadTask(store, sink, item, quiet, event_sink=events_to)).events == 1500
        assert set(recorder.tables) == set(source_tables(kind))
        assert stored(store, kind) == recorder.tables
        read_item(ReadTask(store, sink, item, quiet, begun=True))
        assert stored(store, kind) == recorder.tables
        with BulkSink(store, patiently) as events_to:
            read_item(ReadTask(store, sink, item, quiet, begun=True, event_sink=events_to))
        assert stored(store, kind) == recorder.tables
    assert not folders(store)
    assert "waiting:" not in caplog.text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bulk_load_is_found(
    layout: str, store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long item becomes several imports."""
    monkeypatch.setattr(parts, "PART_BYTES", 200 << 10)
    name, lines = f"found{layout}", 5000
    settings = own(store_settings, name, ingest_mode="bulk")
    kind = store.catalog.register(source(name, layout=layout))
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(log_file(tmp_path / "a.log", lines).read_bytes()))
    result = load(settings, path, feed=kind.name)
    assert (result.events, result.quarantined, result.failed, result.files[0].items) == (lines, 0, (), 1)
    assert counts(store, kind) == exactly(kind, lines)
    service = QueryService(store)
    wanted = [f"{i:07d}" * 4 for i in reversed(range(lines)) if i % 5 == 3 and i % 3 == 1]
    for scheme in ("scan", "batched-index"):
        request = QueryRequest(kind.name, where="host = h3 and n = 1", columns=("text",), scheme=scheme)
        assert [text for batch in service.run(request) for text in batch.column("text").to_pylist()] == wanted
    assert service.count_events(kind.name) == lines
    assert not folders(store)


@pytest.mark.parametrize(
    ("layout", "modes"),
    [("cell", ("live", "bulk")), ("cell", ("bulk", "live")), ("block", ("live", "bulk"))],
    ids=["cell-bulk", "cell-live", "block-bulk"],
)
def test_the_later_reading_wins(
    layout: str, modes: tuple[str, str], store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """By the wider definition more lines are events: counts under the same keys are higher, blocks are others."""
    name = f"later{modes[0]}{layout}"
    first, second = (own(store_settings, name, ingest_mode=mode) for mode in modes)
    kind = store.catalog.register(source(name, layout=layout))
    file = tmp_path / "a.log"
    file.write_text("".join((line(i, colour=f"c{i % 7}") if i % 2 else line(i)) + "\n" for i in range(3000)))
    load(first, file, feed=kind.name)
    assert counts(store, kind) == exactly(kind, 1500)
    extra = ({"name": "colour", "type": "string", "indexed": True},)
    kind = store.catalog.register(source(name, extra=extra, layout=layout))
    load(second, file, feed=kind.name, again=True)
    assert counts(store, kind) == replace(exactly(kind, 3000), index=2 * 3000 + 1500)
