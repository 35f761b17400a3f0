"""With ``durability = "sync"`` nothing that was acknowledged is lost in a power cut.

The power cut is simulated (``power_cut.py``): all servers are killed, and of Accumulo's files and of the queue remains
what they had forced to the disk. What ZooKeeper writes stays: it forces each of its writes, into files of fixed size.

In `make soak`: a stack is started, filled, killed and started again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import counts, exactly, log_file, own, source
from own_stack import stack_folder
from power_cut import Disk, cut_end, cut_power, recorded

from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.queue.work_queue import queue_lag
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import event_table, shard_name
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak]
LINES = 3_000


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    # Without the option that has ZooKeeper force nothing.
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
    with stack_folder() as fresh:
        yield own(replace(fresh, durability="sync", tserver_heap="256m", tserver_maps="64m"), "power")


def kill_all(settings: Settings) -> None:
    stop_supervisor(settings)
    processes = [process for path in (settings.home / "run").glob("*.json") if (process := find_process(path))]
    for process in processes:
        process.kill()
    for process in processes:
        process.wait(30)


def load(settings: Settings, file: Path, kind: Source, workers: int = 1) -> None:
    """Loads a file by processes of their own, which note what they force to the disk as the servers do."""
    run = Load(settings, [file], kind.name, workers=workers)
    for _ in run:
        pass
    assert run.result.events == LINES


def queue_only(settings: Settings, file: Path, kind: Source) -> None:
    for progress in Load(settings, [file], kind.name, workers=0):
        if progress.phase == "loading":
            return


def write_files(store: Store, kind: Source) -> None:
    """Has the tablet servers write all entries of a source to files, and merge those, so that no log has them."""
    operations = store.connection.client.tableOperations()
    for table in source_tables(kind):
        operations.compact(table, None, None, True, True)


def read_rows(store: Store, table: str) -> set[bytes]:
    every = Ranges()
    every.add_rows(b"", None)
    return {row for batch in store.scan(EntryScan(table, every)) for row in batch.column("row").to_pylist()}


def test_what_was_acknowledged_is_there_after_a_power_cut(settings: Settings, tmp_path: Path) -> None:
    rows = {b"%s entry %d" % (shard_name(n % 2), n) for n in range(100)}
    with recorded(tmp_path) as notes:
        start_stack(settings)
        with Store.open(settings) as store:
            kinds = [store.catalog.register(source(name, name)) for name in ("block", "cell")]
            imported, plain, queued = (store.catalog.register(source(n)) for n in ("imported", "plain", "queued"))
            for kind in kinds:
                load(settings, log_file(tmp_path / f"{kind.layout}.log", LINES), kind)
            load(replace(settings, ingest_mode="bulk"), log_file(tmp_path / "imported.log", LINES, "i"), imported)
            for kind in kinds:
                write_files(store, kind)
            # These are in a log only.
            store.put(event_table(plain), [(row, b"", b"q", b"") for row in rows])
            for kind in kinds:
                load(settings, log_file(tmp_path / f"{kind.layout}-2.log", LINES, "more"), kind)
            # These are in the queue only.
            queue_only(settings, log_file(tmp_path / "queued.log", LINES, "q"), queued)
            waiting = queue_lag(settings)
            assert waiting > 0
        kill_all(settings)
    disk = Disk.read(notes)
    lost = cut_power(settings.home / "data" / "accumulo", disk)
    print(f"{len(lost)} of Accumulo's files were lost, whole or at their end: {lost}")
    for segment in (settings.home / "data" / "kafka").rglob("*.log"):
        cut_end(segment, disk.sizes.get(segment.stat().st_ino, 0))

    start_stack(settings)
    assert queue_lag(settings) == waiting
    with Store.open(settings) as store:
        for kind in kinds:
            assert counts(store, kind) == exactly(kind, 2 * LINES)
        assert counts(store, imported) == exactly(imported, LINES)
        assert read_rows(store, event_table(plain)) == rows
