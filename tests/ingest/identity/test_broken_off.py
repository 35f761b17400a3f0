"""A load is killed when it has queued a long file, and before it knows its content: nothing is lost or counted twice.

In `make test`: files of 3,000 lines, on the stack of the run.
"""

from __future__ import annotations

import gzip
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import counts, exactly, ledger_rows, line, load, own, source, wait_for

from watchfloor.ingest.identity import recognise
from watchfloor.ingest.identity.early_file import EarlyFile
from watchfloor.ingest.intake.intake import Intake
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.queue.item import BLAKE3, DRAWN
from watchfloor.ingest.queue.item_buffer import Delivery
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.reading import item_reader
from watchfloor.ingest.reading.item_reader import ItemReader
from watchfloor.ingest.records import long_files
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.long_files import LongFile, LongFiles
from watchfloor.ingest.worker.claim import ClaimPolicy
from watchfloor.ingest.worker.item_handler import ItemHandler
from watchfloor.ingest.worker.session import WorkerSession
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.runtime.disk_space import DiskGuard
from watchfloor.store.runtime.process_identity import ProcessIdentity
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LINES, MORE = 3000, 500
WriteLog = Callable[..., Path]
log = logging.getLogger("watchfloor.test")


def queue_and_stand(settings: Settings, path: Path, feed: str, queued: Path) -> None:
    """Runs in a process of its own: queues a long file and does no more than that."""

    def stand(early: EarlyFile, name: str, find_content: Callable[[], bytes]) -> None:
        queued.touch()
        time.sleep(600)

    long_files.LONG_BYTES = 1 << 10
    EarlyFile.settle = stand  # type: ignore[method-assign]
    for _ in Load(settings, [path], feed, workers=0):
        pass


class Died(BaseException):
    """Ends a load as a death would: nobody handles it."""


def break_off(settings: Settings, path: Path, feed: str) -> None:
    """Queues a file by a load that ends before it knows the content, as if its process had died."""

    def die(early: EarlyFile, name: str, find_content: Callable[[], bytes]) -> None:
        assert early._long_files.swap(early.row, replace(early.row, by=gone_process()))
        raise Died

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Died):
        patch.setattr(EarlyFile, "settle", die)
        for _ in Load(settings, [path], feed, workers=0):
            pass


def gone_process() -> str:
    """Returns the mark of a process of this host that has ended."""
    own_process = ProcessIdentity.of_pid()
    return replace(own_process, started=(own_process.started or 0) - 1000).mark


def kill(settings: Settings, path: Path, feed: str) -> None:
    """Queues a file by a process that is killed before it knows the content."""
    queued = path.with_suffix(".queued")
    process = multiprocessing.get_context("spawn").Process(target=queue_and_stand, args=(settings, path, feed, queued))
    process.start()
    assert process.pid is not None
    wait_for(queued.exists)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    queued.unlink()


def read_items(settings: Settings, store: Store, path: Path, number: int) -> int:
    """Reads some of the queued items of a file, and returns how many events they have."""
    items = [row.item for row in ledger_rows(store, path) if row.item]
    items.sort(key=lambda item: item.start)
    assert len(items) == 4 and {item.digest for item in items} == {DRAWN}
    session = WorkerSession(settings, log, DiskGuard(settings, log))
    with ItemReader() as reader:
        handler = ItemHandler(session, ClaimPolicy(), reader, threading.Event(), log, lambda: None)
        for item in items[1 : 1 + number]:
            assert handler.handle(Delivery(item, 0, 7, raw=item.to_json()))
    session.close()
    return sum(row.events for row in ledger_rows(store, path) if row.state == "done")


def leave_it(file: Path) -> Path:
    return file


def rename_it(file: Path) -> Path:
    return file.rename(file.with_suffix(".log.1"))


def pack_it(file: Path) -> Path:
    packed = file.with_suffix(".log.gz")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    return packed


def touch_it(file: Path) -> Path:
    os.utime(file, ns=(1, 1))
    return file


def append_to_it(file: Path) -> Path:
    with file.open("a") as opened:
        opened.writelines(line(number, "old") + "\n" for number in range(LINES, LINES + MORE))
    return file


CHANGES = (leave_it, rename_it, pack_it, touch_it, append_to_it)


def prepare(
    settings: Settings, store: Store, name: str, file: Path, end: Callable[[Settings, Path, str], None] = break_off
) -> tuple[Settings, Source]:
    """Returns settings and a source of a test's own, with a file whose load broke off."""
    kind = store.catalog.register(source(name))
    settings = own(settings, name)
    end(settings, file, kind.name)
    return settings, kind


@pytest.mark.parametrize("done", [0, 2])
@pytest.mark.parametrize("change", CHANGES)
def test_the_next_load_goes_on_wherever_the_file_is(
    change: Callable[[Path], Path],
    done: int,
    store_settings: Settings,
    store: Store,
    write_log: WriteLog,
    tmp_path: Path,
) -> None:
    file = write_log(tmp_path / "a.log", LINES, "old")
    settings, kind = prepare(store_settings, store, f"broken_{change.__name__}{done}", file)
    assert bool(read_items(settings, store, file, done)) == bool(done)
    lines = LINES + MORE if change is append_to_it else LINES
    path = change(file)
    load(settings, path, feed=kind.name)
    assert counts(store, kind) == exactly(kind, lines)
    assert load(settings, path, feed=kind.name).files[0].is_known
    assert load(settings, path, feed=kind.name, again=True).events == lines
    assert counts(store, kind) == exactly(kind, lines)


def test_what_has_failed_is_queued_again_with_what_was_added(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path
) -> None:
    file = write_log(tmp_path / "a.log", LINES, "old")
    settings, kind = prepare(store_settings, store, "broken_failed", file)
    (row,) = LongFiles(store).read(file.stat().st_size)
    append_to_it(file)
    assert LongFiles(store).swap(row, replace(row, is_changed=True))
    assert not read_items(settings, store, file, 2)
    assert sorted(row.state for row in ledger_rows(store, file)) == ["failed", "failed", "queued", "queued"]
    load(settings, file, feed=kind.name)
    assert counts(store, kind) == exactly(kind, LINES + MORE)


def test_a_load_is_killed(store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path) -> None:
    file = write_log(tmp_path / "a.log", LINES, "old")
    settings, kind = prepare(store_settings, store, "broken_killed", file, kill)
    assert read_items(settings, store, file, 2)
    load(settings, rename_it(file), feed=kind.name)
    assert counts(store, kind) == exactly(kind, LINES)


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("done", [0, 2])
def test_another_file_of_the_same_length_is_another_file(
    done: int, is_there: bool, store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path
) -> None:
    file, other = write_log(tmp_path / "a.log", LINES, "old"), tmp_path / "b.log"
    settings, kind = prepare(store_settings, store, f"broken_other{done}{is_there:d}", file)
    events = read_items(settings, store, file, done)
    write_log(other, LINES, "new")
    moved = file if is_there else file.rename(tmp_path / "moved")
    load(settings, other, feed=kind.name)
    # What was read of the first is in the store; if it is still there, so is what its items were queued for.
    assert counts(store, kind).events == (2 * LINES if is_there else LINES + events)
    load(settings, moved, feed=kind.name)
    assert counts(store, kind).events == 2 * LINES
    assert all(found.is_known for found in load(settings, other, moved, feed=kind.name).files)


def test_a_worker_that_ends_late_does_not_end_the_item_of_another_file(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path
) -> None:
    """The other file is taken for the first, of which nothing is done yet; then a worker ends two items of the first.

    It has looked at the first file for the last time before that was moved.
    """
    file, other = write_log(tmp_path / "a.log", LINES, "old"), tmp_path / "b.log"
    settings, kind = prepare(store_settings, store, "broken_late", file)
    write_log(other, LINES, "new")
    file.rename(tmp_path / "moved")
    agree = recognise._agree

    def agree_early(*args: object) -> bool:
        found = agree(*args)  # type: ignore[arg-type]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(item_reader, "check_unchanged", lambda *args: None)
            (tmp_path / "moved").rename(file)
            assert read_items(settings, store, file, 2)
            file.rename(tmp_path / "moved")
        return found

    with pytest.MonkeyPatch.context() as patch, ItemProducer(settings) as producer:
        patch.setattr(recognise, "_agree", agree_early)
        offer = Intake(store, Ledger(store), producer).offer_file(str(other), kind.name)
    assert len(offer.queued) == 4 and {item.digest for item in offer.queued} == {DRAWN}
    load(settings, other, feed=kind.name)
    assert counts(store, kind) == exactly(kind, LINES)
    load(settings, tmp_path / "moved", feed=kind.name)
    assert counts(store, kind) == exactly(kind, 2 * LINES)


def test_a_load_that_stood_still_says_so(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path
) -> None:
    kind = store.catalog.register(source("broken_still"))
    settings, file = own(store_settings, "broken_still"), write_log(tmp_path / "a.log", LINES, "still")
    stopped = EarlyFile.draw_identity(LongFiles(store), file.stat().st_size)
    assert stopped is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recognise, "SILENT_SECONDS", 0.5)
        assert load(settings, file, feed=kind.name).events == LINES
    with pytest.raises(InputFileError, match=r"a\.log: another load has taken it over, .* load it again"):
        stopped.settle("a.log", lambda: b"x" * 16)
    assert load(settings, file, feed=kind.name).files[0].is_known
    assert counts(store, kind) == exactly(kind, LINES)


def test_a_load_that_died_before_it_queued_anything_leaves_nothing(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path
) -> None:
    kind = store.catalog.register(source("broken_first"))
    settings, file = own(store_settings, "broken_first"), write_log(tmp_path / "a.log", LINES, "first")
    LongFiles(store).write(LongFile(file.stat().st_size, b"x" * 16, by=gone_process()))
    assert load(settings, file, feed=kind.name).events == LINES
    assert {row.item.digest for row in ledger_rows(store, file) if row.item} == {BLAKE3}
    assert load(settings, file, feed=kind.name).files[0].is_known
    assert counts(store, kind) == exactly(kind, LINES)
