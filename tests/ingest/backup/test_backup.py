"""An export that is imported gives the same source: events, counts, sightings, labels, quarantined lines and ledger.

In `make test`: files of a few hundred lines.
"""

from __future__ import annotations

import json
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import counts, exactly, ledger_rows, line, load, log_file, own, source

from watchfloor.ingest.backup.export import export_sources
from watchfloor.ingest.backup.restore import import_sources
from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.ingest.maintenance.retry import retry_lines
from watchfloor.ingest.queue.item import DRAWN, WorkItem
from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.ingest.records import long_files
from watchfloor.ingest.records.cells import delete_cells
from watchfloor.ingest.records.ledger import ItemRun, Ledger
from watchfloor.ingest.records.long_files import LongFile
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import ITEMS_TABLE, drop_source, have_zones
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.retention.policy import read_policy, set_keep
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LINES = 400
KIND = ({"name": "client", "type": "ip", "indexed": True, "ecs": "source.ip"},)
LABELLED = ({"name": "secret", "type": "string", "indexed": True, "visibility": "hush"},)


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        opened.grace = 0.0
        yield opened


def texts_of(store: Store, name: str, where: str | None = None) -> Counter[str]:
    """Returns how often each text is among the events that satisfy a filter."""
    request = QueryRequest(name, where=where, columns=("text",))
    return Counter(text for batch in QueryService(store).run(request) for text in batch.column("text").to_pylist())


def forget(store: Store, kind: Source, *files: Path) -> None:
    """Removes a source with its rows in the ledger: the store is then like another one."""
    items = [row.item for file in files for row in ledger_rows(store, file) if row.item is not None]
    Ledger(store).delete_items(items)
    with store.sink() as sink:
        delete_cells(sink, ITEMS_TABLE, {(LongFile(item.length, item.file_id).key, "file") for item in items}, "")
        sink.flush()
    drop_source(store.connection, kind)
    assert kind.name not in store.catalog.read_sources()


def test_an_imported_source_is_the_exported_one(
    store_settings: Settings, store: Store, tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if its files were queued before they were hashed: they are known by their content all the same."""
    monkeypatch.setattr(long_files, "LONG_BYTES", 1 << 10)
    kind = store.catalog.register(source("moved", layout, KIND))
    good, mixed = log_file(tmp_path / "a.log", LINES, layout), tmp_path / "b.log"
    mixed.write_text("".join(line(n, layout, client="10.1.2.3") + "\n" for n in range(LINES)) + "no event\n" * 3)
    settings = own(store_settings, "moved")
    assert load(settings, good, mixed, feed=kind.name).events == 2 * LINES
    assert {row.item.digest for path in (good, mixed) for row in ledger_rows(store, path) if row.item} == {DRAWN}
    set_keep(store, kind.name, 200_000 * 3_600_000_000)
    wheres = None, "host = h1", "client in 10.0.0.0/8"
    before = [texts_of(store, kind.name, where) for where in wheres]
    assert before[2].total() == LINES
    found = QueryService(store).find_sightings("10.1.2.3", sources=kind.name).found
    lines = list(Quarantine(store).open_lines(path=str(mixed)))
    assert len(lines) == 3 and len(found) == 1
    stored = counts(store, kind)
    assert stored.events == stored.total_days == 2 * LINES
    done = export_sources(store, [kind.name], tmp_path / "backup")
    assert done.manifest.sources[kind.name].events == 2 * LINES
    assert (done.partial, done.untold) == (0, 0)
    assert done.manifest.records.keys() == {"items", "quarantine"}
    forget(store, kind, good, mixed)
    assert import_sources(store, tmp_path / "backup").events == {kind.name: 2 * LINES}
    assert store.catalog.read_sources()[kind.name] == kind
    assert counts(store, kind) == stored
    assert [texts_of(store, kind.name, where) for where in wheres] == before
    assert QueryService(store).find_sightings("10.1.2.3", sources=kind.name).found == found
    assert list(Quarantine(store).open_lines(path=str(mixed))) == lines
    assert read_policy(store, kind.name).keep == 200_000 * 3_600_000_000
    again = load(settings, good, mixed, feed=kind.name)
    assert (again.events, counts(store, kind)) == (0, stored)


def test_a_copy_under_another_name_stands_beside_the_source(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """Blocks of the source were merged, an item was read again, and lines were retried."""
    kind = store.catalog.register(source("besides", "block"))
    one, two = log_file(tmp_path / "a.log", LINES), log_file(tmp_path / "b.log", LINES, "b")
    settings = own(store_settings, "besides", item_bytes=1 << 20)
    load(settings, one, two, feed=kind.name)
    assert compact_source(store, kind.name, 0).events == 2 * LINES
    load(settings, one, feed=kind.name, again=True)
    export_sources(store, [kind.name], tmp_path / "backup")
    copy = parse_definition({**kind.definition, "name": f"{kind.name}_copy"})
    import_sources(store, tmp_path / "backup", copy.name)
    assert counts(store, copy) == exactly(copy, 2 * LINES) == counts(store, kind)
    assert texts_of(store, copy.name, "host = h2") == texts_of(store, kind.name, "host = h2")
    compact_source(store, copy.name, 0)
    assert counts(store, copy) == exactly(copy, 2 * LINES)


def test_zones_of_an_import_are_used_if_all_blocks_have_them(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    kind = store.catalog.register(source("zoned", "block"))
    load(own(store_settings, "zoned"), log_file(tmp_path / "a.log", LINES), feed=kind.name)
    export_sources(store, [kind.name], tmp_path / "backup")
    manifest = tmp_path / "backup" / "manifest.json"
    told = json.loads(manifest.read_text())
    assert told["sources"][kind.name].pop("zones") is True
    wanted = texts_of(store, kind.name, "not text = nothing")
    for end, has_zones in (("all", True), ("old", False)):
        copy = parse_definition({**kind.definition, "name": f"{kind.name}_{end}"})
        if not has_zones:
            manifest.write_text(json.dumps(told))  # as an earlier version writes it
        import_sources(store, tmp_path / "backup", copy.name)
        assert have_zones(store.connection, event_table(copy)) == has_zones
        assert texts_of(store, copy.name, "not text = nothing") == wanted
        assert not texts_of(store, copy.name, "text = nothing")


def test_retried_lines_are_exported_once(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    kind = store.catalog.register(source("retriedonce", "block"))
    path = tmp_path / "a.log"
    path.write_text("".join(line(n, more="x") + "\n" for n in range(20)) + "".join(line(n) + "\n" for n in range(30)))
    load(own(store_settings, "retriedonce"), path, feed=kind.name)
    store.catalog.register(source("retriedonce", "block", ({"name": "more", "type": "string"},)))
    retry_lines(store, path=str(path))
    assert texts_of(store, kind.name).total() == 50
    export_sources(store, [kind.name], tmp_path / "backup")
    forget(store, kind, path)
    import_sources(store, tmp_path / "backup")
    assert texts_of(store, kind.name).total() == 50
    assert QueryService(store).count_events(kind.name) == 50


def begin_item(store: Store, item: WorkItem) -> None:
    """Takes an item as a worker does that dies when it has written the events, before the ledger's end."""
    ledger = Ledger(store)
    ledger.write_queued([item], "nowhere")
    assert ledger.swap_run(item, None, ItemRun(item.ticket, 1, time.time(), "test:1", claim="dead"))
    with store.sink() as sink:
        read_item(ReadTask(store, sink, item))


def unread_item(store: Store, settings: Settings, kind: Source, path: Path) -> WorkItem:
    """Returns the item of a file that the ledger does not know."""
    load(settings, path, feed=kind.name)
    (row,) = ledger_rows(store, path)
    assert row.item is not None
    return row.item


def test_items_that_are_being_read_are_left_out_as_a_whole(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    kind = store.catalog.register(source("partly", "block"))
    settings = own(store_settings, "partly", item_bytes=1 << 20)
    whole, other = log_file(tmp_path / "a.log", LINES), log_file(tmp_path / "b.log", LINES, "b")
    load(settings, whole, feed=kind.name)
    item = unread_item(store, settings, kind, other)
    Ledger(store).delete_items([item])
    begin_item(store, item)
    assert texts_of(store, kind.name).total() == 2 * LINES
    done = export_sources(store, [kind.name], tmp_path / "backup")
    assert done.manifest.sources[kind.name].events == LINES
    forget(store, kind, whole, other)
    import_sources(store, tmp_path / "backup")
    assert counts(store, kind) == exactly(kind, LINES)
    assert texts_of(store, kind.name) == Counter(f"{number:07d}" * 4 for number in range(LINES))
    assert load(settings, whole, other, feed=kind.name).events == LINES
    assert counts(store, kind) == exactly(kind, 2 * LINES)


def test_an_export_during_loads_and_compactions_is_of_one_moment(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """Every exported item is whole, and so are the counts."""
    kind = store.catalog.register(source("busy", "block"))
    settings = own(store_settings, "busy")
    files = [log_file(tmp_path / f"{number}.log", LINES, f"{number}-") for number in range(8)]
    load(settings, files[0], feed=kind.name)
    stop = threading.Event()

    def compact() -> None:
        while not stop.is_set():
            compact_source(store, kind.name, 0)

    loading = threading.Thread(target=lambda: load(settings, *files[1:], feed=kind.name))
    compacting = threading.Thread(target=compact)
    loading.start()
    compacting.start()
    try:
        done = export_sources(store, [kind.name], tmp_path / "backup")
        loading.join()
    finally:
        stop.set()
        compacting.join()
    copy = parse_definition({**kind.definition, "name": f"{kind.name}_copy"})
    import_sources(store, tmp_path / "backup", copy.name)
    events = done.manifest.sources[kind.name].events
    assert LINES <= events <= 8 * LINES
    assert counts(store, copy) == exactly(copy, events)
    assert not texts_of(store, copy.name) - texts_of(store, kind.name)
    assert texts_of(store, copy.name).total() == events
    assert counts(store, kind) == exactly(kind, 8 * LINES)


def test_an_expired_event_is_not_shown_after_an_import(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    kind, now = store.catalog.register(source("expired", "block", KIND)), time.time()
    path = tmp_path / "a.log"
    path.write_text("".join(line(n, ts=now - 1800 * n, client="10.3.2.1") + "\n" for n in range(100)))
    load(own(store_settings, "expired"), path, feed=kind.name)
    set_keep(store, kind.name, 24 * 3_600_000_000)
    export_sources(store, [kind.name], tmp_path / "backup")
    copy = f"{kind.name}_copy"
    import_sources(store, tmp_path / "backup", copy)
    shown, service = texts_of(store, copy), QueryService(store)
    assert 47 <= shown.total() <= 51 and not texts_of(store, copy, "client = 10.3.2.1") - shown
    assert service.count_events(copy) <= shown.total()
    sightings = service.find_sightings("10.3.2.1", sources=copy).found
    assert [found.count for found in sightings] == [service.count_events(copy)]


def test_labels_stay_on_what_they_hide(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    kind = store.catalog.register(source("labels", "block", LABELLED))
    path = tmp_path / "a.log"
    path.write_text("".join(line(n, secret=f"s{n % 3}") + "\n" for n in range(30)))
    load(own(store_settings, "labels"), path, feed=kind.name)
    export_sources(store, [kind.name], tmp_path / "backup")
    copy = f"{kind.name}_copy"
    import_sources(store, tmp_path / "backup", copy)
    for labels, fields in ((["hush"], 1), ([], 0)):
        seen = store.with_authorizations(labels)
        (event,) = QueryService(seen).run(QueryRequest(copy, limit=1))
        assert ("secret" in event.column_names and event.column("secret")[0].as_py() is not None) == bool(fields)
    assert texts_of(store.with_authorizations(["hush"]), copy, "secret = s1").total() == 10


def test_no_other_user_can_read_a_backup(store: Store, store_settings: Settings, tmp_path: Path) -> None:
    kind = store.catalog.register(source("closed", "block"))
    load(own(store_settings, "closed"), log_file(tmp_path / "a.log", 20), feed=kind.name)
    folder = tmp_path / "backup"
    export_sources(store, [kind.name], folder)
    for path in (folder, *folder.rglob("*")):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
        assert path.is_dir() or path.suffix in (".rf", ".parquet", ".json"), path
