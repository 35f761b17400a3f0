"""An item that is read again: at each moment a reader sees its old events or its new ones, each once.

In `make test`: files of a few hundred lines, and a question at each sign of life of the reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from ingest_support import counts, exactly, ledger_rows, load, log_file, own, source

from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.ingest.worker.heartbeat import LostItem
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.layouts.block.blocks.block_keys import make_item_tag, read_item_tag
from watchfloor.store.layouts.block.blocks.stored_blocks import list_block_rows, read_blocks
from watchfloor.store.layouts.block.compaction import replace_item
from watchfloor.store.layouts.block.epochs.block_view import read_view
from watchfloor.store.layouts.block.epochs.epochs import EpochAbortedError, EpochWriter
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LINES = 400


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        opened.grace = 0.0
        yield opened


def texts_of(store: Store, kind: Source) -> dict[str, Counter[str]]:
    """All events' texts, found by the index and by a scan."""
    where = "host in (h0, h1, h2, h3, h4)"
    found = {}
    for scheme in ("batched-index", "batched-scan"):
        request = QueryRequest(kind.name, where=where, columns=("text",), scheme=scheme)
        batches = QueryService(store).run(request)
        found[scheme] = Counter(text for batch in batches for text in batch.column("text").to_pylist())
    return found


def wanted(lines: int, salt: str = "") -> Counter[str]:
    return Counter(f"{salt}{number:07d}" * 4 for number in range(lines))


class Readings:
    """Reads an item again, and asks at each sign of life what is seen."""

    def __init__(self, store: Store, item: WorkItem, kind: Source) -> None:
        self._store, self._item, self._kind = store, item, kind
        self.seen: list[dict[str, Counter[str]]] = []

    def read(self) -> None:
        with self._store.sink() as sink:
            read_item(ReadTask(self._store, sink, self._item, self._report, begun=True, confirm=self._ask))

    def _report(self, *_: int) -> None:
        self._ask()

    def _ask(self) -> None:
        self.seen.append(texts_of(self._store, self._kind))


def prepare(settings: Settings, store: Store, folder: Path, name: str, layout: str) -> tuple[list[WorkItem], Source]:
    """Loads two files with events of the same days; returns their items."""
    kind = store.catalog.register(source(name, layout))
    files = [log_file(folder / "a.log", LINES), log_file(folder / "b.log", LINES, "other")]
    assert load(own(settings, name, item_bytes=1 << 20), *files, feed=kind.name).events == 2 * LINES
    items = [row.item for file in files for row in ledger_rows(store, file) if row.item is not None]
    assert len(items) == 2
    return items, kind


BOTH = wanted(LINES) + wanted(LINES, "other")
RIGHT = {"batched-index": BOTH, "batched-scan": BOTH}


@pytest.mark.parametrize("definition", ["same", "wider"])
@pytest.mark.parametrize(("layout", "merged"), [("block", False), ("block", True), ("cell", False)])
def test_a_reader_sees_each_event_once_at_each_moment(
    store_settings: Settings, store: Store, tmp_path: Path, layout: str, merged: bool, definition: str
) -> None:
    name = f"moments{merged:d}{definition}"
    items, kind = prepare(store_settings, store, tmp_path, name, layout)
    if merged:
        assert compact_source(store, kind.name, 0).events == 2 * LINES
    if definition == "wider":
        kind = store.catalog.register(source(name, layout, ({"name": "more", "type": "string", "indexed": True},)))
    readings = Readings(store, items[0], kind)
    readings.read()
    readings.read()
    assert len(readings.seen) >= 4
    for number, seen in enumerate(readings.seen):
        assert seen == RIGHT, f"at sign of life {number}"
    if layout == "block":
        compact_source(store, kind.name, 0)
    assert counts(store, kind) == exactly(kind, 2 * LINES)


def test_blocks_that_a_worker_writes_late_are_not_seen(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The item was read by another worker during a compaction, and so in an epoch."""
    monkeypatch.setattr(replace_item, "_PATIENCE", 0.2)
    items, kind = prepare(store_settings, store, tmp_path, "late", "block")
    compaction = EpochWriter(store, kind)
    assert compaction.begin_epoch(compaction.read_state()) is not None
    readings = Readings(store, items[0], kind)
    readings.read()
    assert readings.seen == [RIGHT] * len(readings.seen)
    state = read_view(store, kind.name).state
    assert (state.epoch, state.aborted) == (2, (1,)), "the compaction took too long and was aborted"
    with store.sink() as sink:
        read_item(ReadTask(store, sink, items[0]))
    assert texts_of(store, kind) == RIGHT
    with pytest.raises(EpochAbortedError):
        compaction.commit_epoch()
    readings.read()
    assert readings.seen == [RIGHT] * len(readings.seen)
    compact_source(store, kind.name, 0)
    assert counts(store, kind) == exactly(kind, 2 * LINES)


def test_index_entries_of_a_block_that_was_never_written_are_not_counted(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event table refused the first reading's blocks, and the item was read again during a compaction."""
    monkeypatch.setattr(replace_item, "_PATIENCE", 0.2)
    items, kind = prepare(store_settings, store, tmp_path, "unwritten", "block")
    drop_events(store, kind, items[0])
    compaction = EpochWriter(store, kind)
    assert compaction.begin_epoch(compaction.read_state()) is not None
    Readings(store, items[0], kind).read()
    assert read_view(store, kind.name).state.epoch == 2
    hosts = dict(QueryService(store).rank_values(kind.name, "host"))
    # The first compaction deletes the names of what was replaced, the second one sees what is left.
    for _ in range(2):
        compact_source(store, kind.name, 0)
        assert counts(store, kind) == exactly(kind, 2 * LINES)
        assert dict(QueryService(store).rank_values(kind.name, "host")) == hosts
        assert sum(hosts.values()) == 2 * LINES
        assert QueryService(store).count_events(kind.name, field="host", value="h1") == hosts["h1"]


def drop_events(store: Store, kind: Source, item: WorkItem) -> None:
    """Deletes an item's rows of the event table, and leaves their entries in the index."""
    rows = [row for batch, _ in list_block_rows(store, kind) for row in batch.to_pylist()]
    own = [row for row in rows if read_item_tag(row) == make_item_tag(item.item_id)]
    keys = [
        {"row": row, "family": family, "qualifier": name.encode(), "visibility": label.encode()}
        for row, cells in read_blocks(store, kind, own).items()
        for family in (b"", b"zone")
        for name, (label, _) in cells.items()
    ]
    assert keys
    schema = pa.schema([(name, pa.binary()) for name in ("row", "family", "qualifier", "visibility")])
    with store.sink() as sink:
        sink.delete_entries(event_table(kind), pa.RecordBatch.from_pylist(keys, schema=schema))
        sink.flush()


def test_workers_that_replace_items_at_once_wait_for_each_other(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    items, kind = prepare(store_settings, store, tmp_path, "atonce", "block")
    compact_source(store, kind.name, 0)
    readings = [Readings(store, item, kind) for item in items * 3]
    with ThreadPoolExecutor(len(readings)) as threads:
        for done in [threads.submit(one.read) for one in readings]:
            done.result(120)
    for one in readings:
        assert one.seen == [RIGHT] * len(one.seen)
    state = read_view(store, kind.name).state
    assert state.epoch >= 1 + len(readings) and not state.owner
    compact_source(store, kind.name, 0)
    assert counts(store, kind) == exactly(kind, 2 * LINES)


def test_a_worker_that_loses_the_item_leaves_what_was_there(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """It loses it between the writing of the epoch's blocks and the commit."""
    items, kind = prepare(store_settings, store, tmp_path, "lost", "block")
    compact_source(store, kind.name, 0)

    def lose() -> None:
        raise LostItem

    with store.sink() as sink, pytest.raises(LostItem):
        read_item(ReadTask(store, sink, items[0], begun=True, confirm=lose))
    state = read_view(store, kind.name).state
    assert not state.owner and state.aborted
    assert texts_of(store, kind) == RIGHT
    Readings(store, items[0], kind).read()
    assert texts_of(store, kind) == RIGHT
    compact_source(store, kind.name, 0)
    assert counts(store, kind) == exactly(kind, 2 * LINES)
