"""Ingest loads files on a real stack: the ledger, the master, and items that cannot be read.

The two layouts write differently, so tests of loading and reading again run in both. Those of the master, the queue and
claims never reach the writing: they run in the default layout only, for some are slow.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import (
    count_messages,
    counts,
    exactly,
    ledger_rows,
    line,
    load,
    load_while,
    log_file,
    own,
    pool,
    running_master,
    source,
    wait_for,
    worker_here,
)

from watchfloor.ingest.intake.intake import Intake
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.master import watch_folders
from watchfloor.ingest.queue.item_buffer import Delivery
from watchfloor.ingest.queue.work_queue import ItemConsumer, ItemProducer, queue_lag
from watchfloor.ingest.records.ledger import ItemRun, Ledger
from watchfloor.ingest.worker import claim
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import InputFileError, QueueError, StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.layouts.block.epochs.block_view import EpochState
from watchfloor.store.layouts.block.epochs.epochs import EpochWriter
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def test_a_file_loaded_twice_changes_nothing(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, "twice"), store.catalog.register(source("twice", layout))
    file = log_file(tmp_path / "a.log", 5000)
    first = load(settings, file, feed=kind.name)
    assert (first.events, first.quarantined, first.clean) == (5000, 0, True)
    assert first.files[0].items > 3 and first.bytes == file.stat().st_size
    assert counts(store, kind) == exactly(kind, 5000)
    second = load(settings, file, feed=kind.name)
    assert second.files[0].is_known and (second.files[0].events, second.events) == (5000, 0)
    third = load(settings, file, feed=kind.name, again=True)
    assert not third.files[0].is_known and third.events == 5000
    # Cut in other pieces, its counts would lie beside those that are there; it is cut as it was.
    load(replace(settings, item_bytes=1 << 20), file, feed=kind.name, again=True)
    assert counts(store, kind) == exactly(kind, 5000)
    assert {row.state for row in ledger_rows(store, file)} == {"done"}
    assert queue_lag(settings) == 0


def test_a_load_that_is_begun_again_counts_what_it_has_done_before(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    kind = store.catalog.register(source("begunagain"))
    settings, file = own(store_settings, "begunagain"), log_file(tmp_path / "a.log", 300)
    (tmp_path / "b.log").write_bytes(file.read_bytes())
    began = time.time()
    load(settings, file, feed=kind.name)
    for since, events in ((began, 300), (time.time(), 0)):
        again = Load(settings, [file, tmp_path / "b.log"], kind.name, workers=0)
        again.count_since(since)
        for _ in again:
            pass
        assert again.result.events == events
        assert [found.is_known for found in again.result.files] == [not events, True]


def test_renamed_and_compressed_copies_are_the_same_file(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, "copies"), store.catalog.register(source("copies", layout))
    file = log_file(tmp_path / "a.log", 3000)
    load(settings, file, feed=kind.name)
    (tmp_path / "a.log.1").write_bytes(file.read_bytes())
    (tmp_path / "a.log.2.gz").write_bytes(gzip.compress(file.read_bytes()))
    result = load(settings, tmp_path / "a.log.*", feed=kind.name)
    assert all(f.is_known for f in result.files) and len(result.files) == 2
    load(settings, tmp_path / "a.log.2.gz", feed=kind.name, again=True)
    assert counts(store, kind) == exactly(kind, 3000)


def test_only_the_growth_of_a_file_is_read(store_settings: Settings, store: Store, layout: str, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "growth"), store.catalog.register(source("growth", layout))
    file = log_file(tmp_path / "a.log", 1000)
    load(settings, file, feed=kind.name)
    for lines in (1500, 1800):
        log_file(file, lines)
        assert load(settings, file, feed=kind.name).events < 1000
    assert counts(store, kind) == exactly(kind, 1800)
    assert load(settings, file, feed=kind.name, again=True).events == 1800
    assert counts(store, kind) == exactly(kind, 1800)


def test_reading_with_another_definition_leaves_nothing_of_the_first(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other line has a field that the first definition lacks. Another file's events, not read again, stay.

    The first reading's blocks are replaced also if the replacement breaks off half-way.
    """
    settings, kind = own(store_settings, "wider"), store.catalog.register(source("wider", layout))
    file = tmp_path / "a.log"
    file.write_text("".join((line(i, colour=f"c{i % 7}") if i % 2 else line(i)) + "\n" for i in range(3000)))
    other = log_file(tmp_path / "b.log", 1000, "other")
    first = load(settings, file, other, feed=kind.name)
    assert (first.events, first.quarantined) == (2500, 1500)
    assert counts(store, kind) == exactly(kind, 2500)

    wider = store.catalog.register(source("wider", layout, ({"name": "colour", "type": "string", "indexed": True},)))
    listed: list[int] = []
    whole = EpochWriter.list_replaced

    def breaks_off(self: EpochWriter, state: EpochState, rows: Iterable[bytes]) -> None:
        whole(self, state, rows)
        listed.append(state.begun)
        if len(listed) == 1:
            raise StoreError("gone")

    monkeypatch.setattr(EpochWriter, "list_replaced", breaks_off)
    result = load(settings, file, feed=kind.name, again=True)
    assert (result.events, result.quarantined) == (3000, 0)
    assert bool(listed) == (layout == "block")
    found = counts(store, wider)
    assert (found.events, found.index, found.total_days) == (4000, 2 * 4000 + 1500, 4000)
    red = QueryService(store).run(QueryRequest(kind.name, where="colour = c3", columns=("n",)))
    assert sum(map(len, red)) == sum(1 for i in range(1, 3000, 2) if i % 7 == 3)


def test_nothing_is_queued_if_any_file_is_bad(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "bad"), store.catalog.register(source("bad"))
    good = log_file(tmp_path / "a.log", 10)
    for path, why in ((tmp_path / "no.log", "No such file"), (tmp_path, "folder"), (tmp_path / "*.x", "no file fits")):
        with pytest.raises(InputFileError, match=why):
            Load(settings, [good, path], kind.name)
    (tmp_path / "junk").write_bytes(os.urandom(3000))
    with pytest.raises(InputFileError, match="junk"):
        list(Load(settings, [good, tmp_path / "junk"], is_strict=True))
    with pytest.raises(InputFileError, match="junk"):
        list(Load(settings, [tmp_path / "junk"]))
    assert not ledger_rows(store, good)


def test_files_of_unknown_kinds_are_skipped_and_copies_do_not_count(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "skips")
    record = {"timestamp": "2024-03-05T08:00:00Z", "event_type": "skipped_kinds", "src_port": "80"}
    lines = [json.dumps({**record, "flow_id": number}) for number in range(3000)]
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "c.json").write_text(json.dumps({**record, "src_port": 80, "dest_port": {"a": 1}}) + "\n")
    (tmp_path / "junk").write_bytes(os.urandom(3000))
    (tmp_path / "empty").write_bytes(b"")
    running = Load(settings, [tmp_path / "*"], workers=0)
    with worker_here(settings):
        list(running)
    result = running.result
    assert [f.is_known for f in result.files] == [False, True, False]
    assert [Path(reason.partition(": ")[0]).name for reason in result.unread] == ["empty", "junk"]
    assert result.files[0].items > 3
    assert (result.events, result.quarantined, result.clean) == (3001, 0, False)
    name = "suricata.skipped_kinds"
    assert result.misfits == {(name, "src_port"): 3000, (name, "dest_port"): 1}


def test_servers_that_are_down_are_named(store_settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_text('192.0.2.1 - - [10/Oct/2023:13:55:36 +0000] "GET / HTTP/1.1" 200 2326\n')
    began = time.monotonic()
    with pytest.raises(QueueError, match=r"127\.0\.0\.1:1.*watchfloor up"):
        list(Load(replace(own(store_settings, "away"), kafka_bootstrap="127.0.0.1:1"), [file], "web.access"))
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("polling", [False, True])
def test_the_master_queues_each_file_once(
    polling: bool, store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    name = f"master{int(polling)}"
    settings = own(store_settings, name, item_bytes=128 << 10)  # so that each file is one item
    kind = store.catalog.register(source(name))
    folder = tmp_path / "in"
    folder.mkdir()
    log_file(folder / "before.log", 100, "b" + name)
    with worker_here(settings):
        with running_master(settings, folder, kind.name, settle=1.0, polling=polling):
            log_file(folder / "now.log", 200, "n" + name)
            log_file(folder / "copy.part", 400, "p" + name)
            log_file(tmp_path / "moved.log", 800, "m" + name).rename(folder / "moved.log")
            (folder / "link.log").symlink_to(folder / "now.log")
            os.mkfifo(folder / "pipe")
            wait_for(lambda: counts(store, kind) == exactly(kind, 1100))
            (folder / "copy.part").rename(folder / "copy.log")
            wait_for(lambda: counts(store, kind) == exactly(kind, 1500))
            (folder / "now.log").rename(folder / "now.log.1")
            time.sleep(3)
        lag = count_messages(settings)
        with running_master(settings, folder, kind.name, settle=0.5, polling=True):
            log_file(folder / "after.log", 50, "a" + name)
            wait_for(lambda: counts(store, kind) == exactly(kind, 1550))
            time.sleep(2)
        assert count_messages(settings) == lag + 1
    assert len([row for row in Ledger(store).read_rows() if row.path.startswith(str(folder))]) == 5


def test_the_master_refuses_unknown_kinds_once(
    store_settings: Settings, store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = own(store_settings, "refuses")
    junk = tmp_path / "junk.bin"
    junk.write_bytes(os.urandom(5000))
    for _ in range(2):
        with running_master(settings, tmp_path, None, settle=0.2, polling=True):
            time.sleep(3)
    assert sum("refused" in record.message for record in caplog.records) == 1
    (row,) = [row for row in Ledger(store).read_rows(["refused"]) if row.path == str(junk)]
    assert row.reason and row.state == "refused"


def test_a_folder_that_is_none_is_refused(store_settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="not a folder"):
        watch_folders(store_settings, [tmp_path / "no"], threading.Event())


def test_a_worker_that_its_group_forgot_gets_items_again(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, "lost"), store.catalog.register(source("lost"))
    consumer = ItemConsumer(settings)
    try:
        wait_for(lambda: consumer.poll(0.2) or consumer._consumer.assignment())
        # As the library leaves it when two of its polls have crossed: it asks to join, and waits for no answer.
        consumer._consumer._subscription.assign_from_subscribed([])
        consumer._consumer._coordinator.rejoining = True
        with ItemProducer(settings) as producer:
            Intake(store, Ledger(store), producer).offer_file(str(log_file(tmp_path / "a.log", 10)), kind.name)
        wait_for(lambda: consumer.poll(0.2))
    finally:
        consumer.close()


def test_a_thread_that_polls_again_and_again_lets_others_commit(store_settings: Settings) -> None:
    """As a worker does that waits for an item while another one is imported."""
    consumer, stop, polls = ItemConsumer(own(store_settings, "fair")), threading.Event(), 0

    def poll() -> None:
        nonlocal polls
        while not stop.is_set():
            consumer.poll(0.05)
            polls += 1

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        for _ in range(10):
            consumer.commit(Delivery(None, 0, 0))
    finally:
        stop.set()
        thread.join()
        consumer.close()
    assert polls < 50


@pytest.mark.parametrize("what", ["vanishes", "changes"])
def test_a_file_that_is_not_what_was_queued_fails(
    what: str, store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, what), store.catalog.register(source(what))
    file = log_file(tmp_path / "a.log", 100)
    with ItemProducer(settings) as producer:
        intake = Intake(store, Ledger(store), producer)
        intake.offer_file(str(file), kind.name)
    assert [row.state for row in ledger_rows(store, file)] == ["queued"]
    if what == "vanishes":
        file.unlink()
    else:
        file.write_text(file.read_text().replace("h1", "hX"))
    with worker_here(settings):
        wait_for(lambda: ledger_rows(store, file)[0].state == "failed")
        wait_for(lambda: queue_lag(settings) == 0)
    reason = ledger_rows(store, file)[0].reason
    assert str(file) in reason and ("No such file" if what == "vanishes" else "changed after it was queued") in reason
    # It can be queued again, and then ends well.
    log_file(file, 100)
    assert load(settings, file, feed=kind.name).events == 100
    assert counts(store, kind) == exactly(kind, 100)


def test_a_load_reports_a_file_that_vanished(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "gone"), store.catalog.register(source("gone"))
    file = log_file(tmp_path / "a.log", 100)
    with ExitStack() as later:

        def vanish(_: object) -> bool:
            file.unlink()
            later.enter_context(worker_here(settings))
            return True

        result = load_while(Load(settings, [file], kind.name, workers=0), vanish)
    assert not result.clean and len(result.failed) == 1 and "No such file" in result.failed[0]


SLOW_DISK = """
import time
import watchfloor.ingest.reading.item_reader as reading
original = reading.read_chunks
def read_chunks(path, *rest):
    for chunk in original(path, *rest):
        time.sleep(0.1)
        yield chunk
reading.read_chunks = read_chunks
"""


def test_a_worker_that_is_told_to_stop_lets_go(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = own(store_settings, "stops", item_bytes=1 << 30, chunk_bytes=4096)
    kind = store.catalog.register(source("stops", layout))
    file = log_file(tmp_path / "a.log", 100_000)
    (tmp_path / "sitecustomize.py").write_text(SLOW_DISK)
    with ItemProducer(settings) as producer:
        Intake(store, Ledger(store), producer).offer_file(str(file), kind.name)
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        with pool(settings):  # which would be at it for minutes
            wait_for(lambda: ledger_rows(store, file)[0].progress > 0)
    (row,) = ledger_rows(store, file)
    assert (row.state, row.attempts) == ("queued", 0)
    assert row.run is not None and 0 < row.run.events < 100_000
    with worker_here(replace(settings, chunk_bytes=1 << 20)):
        wait_for(lambda: ledger_rows(store, file)[0].state == "done")
    assert counts(store, kind) == exactly(kind, 100_000)


def test_two_workers_do_not_read_one_item_at_once(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "STALE_SECONDS", 4.0)
    settings, kind = own(store_settings, "turns"), store.catalog.register(source("turns"))
    file = log_file(tmp_path / "a.log", 100)
    with ItemProducer(settings) as producer:
        ledger = Ledger(store)
        (item,) = Intake(store, ledger, producer).offer_file(str(file), kind.name).items
        assert ledger.swap_run(item, None, ItemRun(item.ticket, 1, time.time() + 2, "another"))
        with worker_here(settings):
            time.sleep(3)
            assert ledger_rows(store, file)[0].by == "another"
            wait_for(lambda: ledger_rows(store, file)[0].state == "done")
        ledger.close()
    assert ledger_rows(store, file)[0].attempts == 2
    assert counts(store, kind) == exactly(kind, 100)
