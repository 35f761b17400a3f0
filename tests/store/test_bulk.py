"""Bulk mode: the same entries as by BatchWriters, exactly once, whatever happens on the way."""

from __future__ import annotations

import gzip
import json
import logging
import random
import secrets
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jpype
import pyarrow as pa
import pytest
from block_store import BlockStore
from ingest_support import START, counts, exactly, line, load, load_while, log_file, own, source, worker_here

from watchfloor.ingest.files.file_scan import WHOLE, items_of, scan_file
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.load_result import LoadResult
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.worker import parts
from watchfloor.ingest.worker.item_reader import ReadTask, read_item
from watchfloor.ingest.worker.session_pool import SessionPool
from watchfloor.query.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.credentials import Credentials
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.labels import read_user_labels
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bulk import bulk
from watchfloor.store.bulk.bulk import BulkSink
from watchfloor.store.bulk.folders import folder_name, folder_root, remove_left_overs
from watchfloor.store.encoding import key_order
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import TableWrite
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LAYOUTS = ("cell", "block")
Tables = dict[str, dict[tuple[bytes, bytes, bytes], tuple[bytes, bytes]]]


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def patiently() -> None:
    """Waits for files as long as it takes."""


def quiet(done: int, events: int, quarantined: int) -> None:
    pass


def item_of(path: Path, kind: Source) -> WorkItem:
    (item,) = items_of(scan_file(path, WHOLE), str(path), kind.name, b"", secrets.token_hex(8))
    return item


def folders(store: Store) -> list[str]:
    names = jvm.java_class("watchfloor.bridge.sink.BulkFiles").names
    return [str(name) for name in names(folder_root(store.settings, store.connection))]


class Recorder(BlockStore):
    """A sink that keeps what it is given."""

    def write_rows(self, table: str, batch: pa.RecordBatch) -> None:
        self.put([TableWrite(table, batch, True, 0)])

    def write_entries(self, table: str, batch: pa.RecordBatch) -> None:
        self.put([TableWrite(table, batch, False, 0)])

    def flush(self) -> None:
        pass


def stored(store: Store, kind: Source) -> Tables:
    found: Tables = defaultdict(dict)
    everything = Ranges()
    everything.add_rows(b"", None)
    for table in source_tables(kind):
        for batch in store.with_authorizations(read_user_labels(store.connection, store.user)).scan(
            EntryScan(table, everything)
        ):
            for row, family, qualifier, visibility, value in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                assert (row, family, qualifier) not in found[table]
                found[table][row, family, qualifier] = visibility, value
    return found


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
    monkeypatch.setattr(bulk, "HELD_BYTES", 200_000)
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


KILLER = """
import os, signal, threading
from pathlib import Path
from watchfloor.store.bulk.bulk import BulkSink

HERE = Path(__file__).parent

def die(step):
    try:
        (HERE / step).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
"""


def load_killed(
    code: str, steps: tuple[str, ...], run: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> LoadResult:
    """Loads by a worker process that has run ``code``, which kills it once at each of the steps."""
    (folder / "sitecustomize.py").write_text(KILLER + code)
    for step in steps:
        (folder / step).touch()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    for _ in run:
        pass
    assert not any((folder / step).exists() for step in steps)
    return run.result


IN_AND_AFTER_AN_IMPORT = """
has_room, remove_folders = BulkSink._has_room, BulkSink._remove_folders

def begin(self):
    threading.Timer(0.1, die, ["importing"]).start()
    return has_room(self)

def end(self):
    if self._folders:
        die("imported")
    remove_folders(self)

BulkSink._has_room, BulkSink._remove_folders = begin, end
"""


@pytest.mark.crash
@pytest.mark.usefixtures("quick_restarts")
def test_workers_killed_in_and_after_an_import(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they have left is removed by the one that comes after them."""
    lines = 20_000
    settings = own(store_settings, "bulk_killed", chunk_bytes=256 << 10, ingest_mode="bulk")
    kind = store.catalog.register(source("bulk_killed"))
    run = Load(settings, [log_file(tmp_path / "a.log", lines)], kind.name)
    result = load_killed(IN_AND_AFTER_AN_IMPORT, ("importing", "imported"), run, tmp_path, monkeypatch)
    assert result.files[0].items == -(-result.bytes // (32 * settings.item_bytes)) > 1
    assert (result.events, result.quarantined, result.failed) == (lines, 0, ())
    assert counts(store, kind) == exactly(kind, lines)
    assert not folders(store)


SIDE_BY_SIDE = """
first, second, lock = [], threading.Event(), threading.Lock()
hold, flush = BulkSink._hold, BulkSink.flush

def another_writes(self, *what):
    with lock:
        if not first:
            first.append(self)
    if first[0] is not self:
        second.set()
    hold(self, *what)

def wait_for_another(self):
    if first == [self] and second.wait(30):
        die("side by side")
        (HERE / "side by side again").touch()
    flush(self)

BulkSink._hold, BulkSink.flush = another_writes, wait_for_another
"""


@pytest.mark.crash
@pytest.mark.usefixtures("quick_restarts")
def test_the_next_item_is_read_while_one_is_imported(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one worker, which is killed when it does so for the first time. Only then do later items write before an
    earlier one is flushed."""
    settings, lines = own(store_settings, "bulk_lanes", ingest_mode="bulk"), 3000
    kind = store.catalog.register(source("bulk_lanes"))
    files = [log_file(tmp_path / f"{name}.log", lines, salt=name) for name in "ab"]
    result = load_killed(SIDE_BY_SIDE, ("side by side",), Load(settings, files, kind.name), tmp_path, monkeypatch)
    assert (tmp_path / "side by side again").exists()
    assert (result.events, result.quarantined, result.failed) == (2 * lines, 0, ())
    assert counts(store, kind) == exactly(kind, 2 * lines)
    assert not folders(store)


def on_cluster(settings: Settings) -> Settings:
    """The same store as if somebody else ran it."""
    return replace(
        settings,
        cluster_properties=settings.client_properties,
        kafka_bootstrap=settings.kafka,
        ingest_password=settings.password_file("ingest"),
        query_password=settings.password_file("query"),
    )


def test_an_import_that_is_refused_is_tried_again(
    store_settings: Settings, store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A cluster's folder lies on its first volume; here a file lies in its place at first."""
    kind = store.catalog.register(source("refused"))
    settings = on_cluster(own(store_settings, "refused", item_bytes=1 << 20, ingest_mode="bulk"))
    place = store_settings.home / "data" / "accumulo" / "watchfloor-bulk"
    place.touch()
    run = Load(settings, [log_file(tmp_path / "a.log", 500)], kind.name, workers=0)

    def mend(_: object) -> bool:
        said = [record.getMessage() for record in caplog.records if "bulk import from" in record.getMessage()]
        if said:
            assert f"table {source_tables(kind)[0]}: " in said[0] and f"file:{place}/" in said[0]
            place.unlink()
        return bool(said)

    try:
        with worker_here(settings):
            assert load_while(run, mend).events == 500
    finally:
        if place.is_file():
            place.unlink()
    assert counts(store, kind) == exactly(kind, 500)
    assert place.is_dir() and not list(place.iterdir())


def test_a_user_without_permission_is_told_so(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    kind = store.catalog.register(source("forbidden"))
    event_table = source_tables(kind)[0]
    security = store.connection.client.securityOperations()
    token = jpype.JClass("org.apache.accumulo.core.client.security.tokens.PasswordToken")
    security.createLocalUser("carter", token("pass"))
    permission = jpype.JClass("org.apache.accumulo.core.security.TablePermission")
    for table in source_tables(kind):
        for granted in (permission.READ, permission.WRITE, permission.ALTER_TABLE):
            security.grantTablePermission("carter", table, granted)
    properties = store_settings.client_properties.read_text()
    batch = pa.RecordBatch.from_pydict({"row": pa.array([b"0000"], pa.binary()), "": pa.array([b""], pa.binary())})
    with Connection.connect(store_settings, properties, Credentials("carter", "pass")) as connection:
        carters = Store(store_settings, connection, "carter", ())
        with BulkSink(carters, patiently) as events_to:
            events_to.write_rows(event_table, batch)
            with pytest.raises(
                StoreError, match=rf"table {event_table}: bulk import from file:.*/data/bulk/.*carter: PERMISS"
            ):
                events_to.flush()
    assert not folders(store)
    assert counts(store, kind).events == 0


def test_nothing_is_imported_while_tablets_have_too_many_files(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = store.catalog.register(source("crowded"))
    event_table = source_tables(kind)[0]
    operations = store.connection.client.tableOperations()
    operations.setProperty(event_table, "table.compaction.major.ratio", "1000")
    monkeypatch.setattr(bulk, "MOST_FILES", 3)
    waits = 0

    def said() -> bool:
        return any(f"a tablet of {event_table} has 4 files" in record.getMessage() for record in caplog.records)

    def waiting() -> None:
        nonlocal waits
        if said() and not waits:
            waits += 1
            assert len(stored(store, kind)[event_table]) == 4
            operations.compact(event_table, None, None, True, True)

    caplog.set_level(logging.INFO, "watchfloor.bulk")
    for number in range(5):
        assert not said()
        with BulkSink(store, waiting if number == 4 else patiently) as events_to:
            row = pa.array([b"0000%d" % number], pa.binary())
            events_to.write_rows(event_table, pa.RecordBatch.from_arrays([row, row], names=["row", "text"]))
            events_to.flush()
    assert waits
    assert len(stored(store, kind)[event_table]) == 5
    assert said()


def test_what_fails_behind_the_writer_fails_its_next_step(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The sink's thread cannot write its file: whoever goes on, or flushes, is told; nothing is in the tables."""
    kind = store.catalog.register(source("behind"))
    event_table = source_tables(kind)[0]
    blocked = tmp_path / "a file, no folder"
    blocked.touch()
    monkeypatch.setattr(bulk, "folder_root", lambda *_: f"file://{blocked}")
    monkeypatch.setattr(bulk, "HELD_BYTES", 1)
    row = pa.array([b"0000"], pa.binary())
    batch = pa.RecordBatch.from_arrays([row, row], names=["row", "text"])
    for step in ("write", "flush"):
        with BulkSink(store, patiently) as events_to:
            events_to.write_rows(event_table, batch)
            with pytest.raises(StoreError, match=f"table {event_table}: bulk import from file:"):
                events_to.write_rows(event_table, batch) if step == "write" else events_to.flush()
    assert counts(store, kind).events == 0


def python_threads_in_the_jvm() -> int:
    threads = jvm.java_class("java.lang.Thread")
    return sum("Thread-" in str(name.getName()) for name in threads.getAllStackTraces().keySet())


def test_its_threads_leave_the_jvm(store: Store) -> None:
    kind = store.catalog.register(source("threads"))

    def write(number: int) -> int:
        with BulkSink(store, patiently) as events_to:
            row = pa.array([b"0000%d" % number], pa.binary())
            events_to.write_rows(source_tables(kind)[0], pa.RecordBatch.from_arrays([row, row], names=["row", "text"]))
            events_to.flush()
        return python_threads_in_the_jvm()

    write(0)
    before = write(1)
    assert [write(number) for number in (2, 3, 4)] == [before] * 3


def test_threads_of_sessions_leave_the_jvm(store: Store) -> None:
    def ask() -> int:
        asked: list[bool] = []
        with SessionPool([store]) as pool:
            pool.begin(lambda session, _: asked.append(session.connection.client.tableOperations().exists("none")))
        assert len(asked) == 1
        return python_threads_in_the_jvm()

    before = ask()
    assert [ask() for _ in range(3)] == [before] * 3


def test_only_folders_of_processes_that_are_gone_are_removed(store: Store) -> None:
    root = Path(folder_root(store.settings, store.connection).removeprefix("file://"))
    mine = folder_name("0123", "a.event")
    host, pid, started, *_ = mine.split("~")
    gone = [f"{host}~{pid}~{int(started) - 100}~0~a.event", f"{host}~{2**22 + 1}~{started}~0~a.event"]
    for name in (mine, f"elsewhere~{pid}~1~0~a.event", "something else", *gone):
        (root / name).mkdir(parents=True)
        (root / name / "000000.rf").touch()
    try:
        assert sorted(remove_left_overs(store)) == sorted(gone)
        assert {path.name for path in root.iterdir()} == {mine, f"elsewhere~{pid}~1~0~a.event", "something else"}
    finally:
        for path in root.iterdir():
            (path / "000000.rf").unlink()
            path.rmdir()
