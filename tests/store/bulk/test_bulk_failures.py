"""A bulk load survives refused and failed imports, and leaves no threads or folders behind.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import jpype
import pyarrow as pa
import pytest
from bulk_loads import folders, patiently, stored
from ingest_support import counts, exactly, load_while, log_file, own, source, worker_here

from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.worker.session_pool import SessionPool
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.credentials import Credentials
from watchfloor.schema.settings.settings import KAFKA_USER, Settings
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bulk import bulk_sink
from watchfloor.store.bulk.bulk_sink import BulkSink
from watchfloor.store.bulk.import_folders import import_root, name_import_folder, remove_stale_folders
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


def on_cluster(settings: Settings) -> Settings:
    """The same store as if somebody else ran it."""
    return replace(
        settings,
        cluster_properties=settings.client_properties,
        kafka_bootstrap=settings.bootstrap_servers,
        kafka_user=KAFKA_USER,
        kafka_password=settings.secret_folder / "kafka.password",
        kafka_protocol="SASL_PLAINTEXT",
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
    monkeypatch.setattr(bulk_sink, "MAX_TABLET_FILES", 3)
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
    monkeypatch.setattr(bulk_sink, "import_root", lambda *_: f"file://{blocked}")
    monkeypatch.setattr(bulk_sink, "BUFFER_BYTES", 1)
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
    root = Path(import_root(store.settings, store.connection).removeprefix("file://"))
    mine = name_import_folder("0123", "a.event")
    host, pid, started, *_ = mine.split("~")
    gone = [f"{host}~{pid}~{int(started) - 100}~0~a.event", f"{host}~{2**22 + 1}~{started}~0~a.event"]
    for name in (mine, f"elsewhere~{pid}~1~0~a.event", "something else", *gone):
        (root / name).mkdir(parents=True)
        (root / name / "000000.rf").touch()
    try:
        assert sorted(remove_stale_folders(store)) == sorted(gone)
        assert {path.name for path in root.iterdir()} == {mine, f"elsewhere~{pid}~1~0~a.event", "something else"}
    finally:
        for path in root.iterdir():
            (path / "000000.rf").unlink()
            path.rmdir()
