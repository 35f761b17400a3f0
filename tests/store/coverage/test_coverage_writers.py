"""Workers, retries and changes of definitions that run at the same time lose no index entry.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from coverage_sources import COLOUR, INDEXED, SECOND, TAGS, assert_all_indexed, covered_from, log_of, made
from ingest_support import START, counts, load, own
from ingest_support import source as make_source

from watchfloor.ingest.files.file_scan import WHOLE, items_of, scan_file
from watchfloor.ingest.maintenance.retry import retry_lines
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME
from watchfloor.store import catalog as catalog_module
from watchfloor.store.bulk.bulk_sink import BulkSink
from watchfloor.store.layout import TableWrite
from watchfloor.store.layouts.item_writer import ItemWriter
from watchfloor.store.store import Store


def item_of(path: Path, kind: Source) -> WorkItem:
    (item,) = items_of(scan_file(path, WHOLE), str(path), kind.name, b"", "ticket")
    return item


@pytest.mark.stack
@pytest.mark.parametrize("mode", ["live", "bulk"])
def test_a_worker_at_work_reads_its_item_again(
    mode: str, layout: str, store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """The index begins when the item is being written by the definition without it."""
    name, draw = f"atwork{mode}", random.Random(2)
    kind = store.catalog.register(make_source(name, layout, (COLOUR, TAGS)))
    events = made(draw, START, START + 86400, 700)
    item = item_of(log_of(tmp_path / "a.log", events), kind)
    begun: list[Source] = []

    def progress(done: int, events: int, quarantined: int) -> None:
        if not begun:
            begun.append(store.catalog.register(make_source(name, layout, INDEXED)))

    with store.sink() as sink:
        if mode == "live":
            end = read_item(ReadTask(store, sink, item, progress))
        else:
            with BulkSink(store, lambda: None) as events_to:
                end = read_item(ReadTask(store, sink, item, progress, events_to))
    assert begun and end.events == 700
    assert_all_indexed(store, kind, events)
    found = counts(store, kind)
    assert (found.events, found.total_days) == (700, 700)


@pytest.mark.stack
def test_lines_that_are_retried_meanwhile(
    layout: str, store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = own(store_settings, "retried"), store.catalog.register(make_source("retried", layout))
    events = made(random.Random(3), START, START + 86400, 300)
    lacking = [event for event in events if not {"colour", "tags"} & set(event)]
    assert load(settings, log_of(tmp_path / "a.log", events), feed=kind.name).events == len(lacking)
    kind = store.catalog.register(make_source("retried", layout, (COLOUR, TAGS)))
    encode_rest, begun = ItemWriter.encode_rest, []

    def encode_and_index(self: ItemWriter) -> list[TableWrite]:
        writes = encode_rest(self)
        if not begun:
            begun.append(store.catalog.register(make_source("retried", layout, INDEXED)))
        return writes

    monkeypatch.setattr(ItemWriter, "encode_rest", encode_and_index)
    assert retry_lines(store, str(tmp_path / "a.log")).events == 300 - len(lacking)
    assert begun and not list(Quarantine(store).open_lines(str(tmp_path / "a.log")))
    assert_all_indexed(store, kind, events)
    found = counts(store, kind)
    assert (found.events, found.total_days) == (300, 300)


@pytest.mark.stack
def test_what_is_cut_off_covers_nothing_and_is_ended_later(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = (
        own(store_settings, "cutoff"),
        store.catalog.register(make_source("cutoff", layout, (COLOUR, TAGS))),
    )
    events = made(random.Random(4), START, START + 86400, 50)
    load(settings, log_of(tmp_path / "a.log", events), feed=kind.name)

    def fails(*_: object) -> int:
        raise StoreError("gone")

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="gone"):
        patch.setattr(catalog_module, "newest_event", fails)
        store.catalog.register(make_source("cutoff", layout, INDEXED))
    known = store.catalog.read_sources()[kind.name]
    assert known.find_field("colour").is_indexed and not known.find_field("colour").is_covered(END_OF_TIME - 1)
    with pytest.raises(UserError, match="its index knows no events yet"):
        QueryService(store).rank_values(kind.name, "colour")
    newest = max(event["ts"] for event in events) * SECOND
    assert covered_from(store.catalog.register(known), "colour") == newest + 1


@pytest.mark.stack
def test_nothing_is_lost_when_many_change_a_definition(store: Store) -> None:
    """Each adds a field and indexes another, all at once."""
    fields: tuple[dict[str, object], ...] = tuple({"name": f"old{number}", "type": "string"} for number in range(4))
    store.catalog.register(make_source("crowd", extra=fields))

    def change(number: int) -> None:
        mine = [{**field, "indexed": field["name"] == f"old{number}"} for field in fields]
        store.catalog.register(make_source("crowd", extra=(*mine, {"name": f"new{number}", "type": "int"})))

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kind = store.catalog.read_sources()[make_source("crowd").name]
    for number in range(4):
        assert f"new{number}" in kind.fields_by_name and kind.find_field(f"old{number}").is_covered(None)
