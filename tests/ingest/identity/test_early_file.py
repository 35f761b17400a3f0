"""A long new file is read before it was hashed, and is the same file afterwards wherever it comes from.

In `make test`: files of 3,000 lines, on the stack of the run.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from ingest_support import counts, exactly, ledger_rows, line, load, own, source, wait_for, worker_here

from watchfloor.ingest.identity.early_file import EarlyFile
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.queue.item import BLAKE3, DRAWN
from watchfloor.ingest.records.cells import delete_cells
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.long_files import LONG_FILE, LongFile, LongFiles
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import ITEMS_TABLE
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LINES = 3000
WriteLog = Callable[..., Path]


def prepare(settings: Settings, store: Store, name: str, layout: str = "block") -> tuple[Settings, Source]:
    return own(settings, name), store.catalog.register(source(name, layout))


def long_file(store: Store, path: Path) -> LongFile:
    """Returns the row of the file whose items were queued under a path."""
    item = next(row.item for row in ledger_rows(store, path) if row.item)
    found = LongFiles(store).find(item.length, item.file_id)
    assert item.digest == DRAWN and found is not None
    return found


class HeldContent:
    """Has loads wait, when their items are queued, until ``release`` is set; ``reached`` is set then."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.reached, self.release = threading.Event(), threading.Event()
        settle = EarlyFile.settle

        def settle_later(early: EarlyFile, name: str, find_content: Callable[[], bytes]) -> None:
            def find() -> bytes:
                self.reached.set()
                assert self.release.wait(60)
                return find_content()

            settle(early, name, find)

        patch.setattr(EarlyFile, "settle", settle_later)


class LoadThread(threading.Thread):
    """Loads a file without workers, in a thread. ``join`` raises what the load has raised."""

    def __init__(self, settings: Settings, path: Path, feed: str) -> None:
        super().__init__()
        self._run, self._error = Load(settings, [path], feed, workers=0), None
        self.result: Any = None
        self.start()

    def run(self) -> None:
        try:
            for _ in self._run:
                pass
            self.result = self._run.result
        except BaseException as error:
            self._error = error

    def join(self, timeout: float | None = 60) -> None:
        super().join(timeout)
        assert not self.is_alive()
        if self._error is not None:
            raise self._error


def test_the_same_file_and_its_copies_are_known(
    store_settings: Settings, store: Store, write_log: WriteLog, layout: str, tmp_path: Path
) -> None:
    settings, kind = prepare(store_settings, store, "early", layout)
    file = write_log(tmp_path / "a.log", LINES, "early")
    assert load(settings, file, feed=kind.name).events == LINES
    assert long_file(store, file).content == blake3(file.read_bytes()).hexdigest(length=16)
    assert counts(store, kind) == exactly(kind, LINES)
    (tmp_path / "b.log").write_bytes(file.read_bytes())
    (tmp_path / "c.log.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.rename(tmp_path / "a.log.1")
    for path in (tmp_path / "a.log.1", tmp_path / "b.log", tmp_path / "c.log.gz"):
        result = load(settings, path, feed=kind.name)
        assert result.files[0].is_known and result.files[0].events == LINES
        assert load(settings, path, feed=kind.name, again=True).events == LINES
    assert counts(store, kind) == exactly(kind, LINES)


def test_only_what_was_added_is_read(
    store_settings: Settings, store: Store, write_log: WriteLog, layout: str, tmp_path: Path
) -> None:
    settings, kind = prepare(store_settings, store, "earlygrown", layout)
    file = tmp_path / "a.log"
    for lines, more in ((LINES, LINES), (3500, 500), (3900, 400)):
        assert load(settings, write_log(file, lines, "grown"), feed=kind.name).events == more
        assert counts(store, kind) == exactly(kind, lines)
    assert {row.item.digest for row in ledger_rows(store, file) if row.item} == {DRAWN, BLAKE3}
    assert load(settings, file, feed=kind.name, again=True).events == 3900
    assert counts(store, kind) == exactly(kind, 3900)


def test_other_content_of_the_same_length_is_new(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path
) -> None:
    settings, kind = prepare(store_settings, store, "earlyother")
    files = [write_log(tmp_path / f"{salt}.log", LINES, salt) for salt in ("one", "two", "six")]
    assert load(settings, *files, feed=kind.name).events == 3 * LINES
    assert counts(store, kind).events == 3 * LINES
    assert [{row.item.digest for row in ledger_rows(store, f) if row.item} for f in files] == [
        {DRAWN},
        {BLAKE3},
        {BLAKE3},
    ]
    assert all(file.is_known for file in load(settings, *files, feed=kind.name).files)


def test_items_are_done_before_the_content_is_known(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = prepare(store_settings, store, "earlyfirst")
    file, held = write_log(tmp_path / "a.log", LINES, "first"), HeldContent(monkeypatch)
    loading = LoadThread(settings, file, kind.name)
    with worker_here(settings):
        wait_for(lambda: {row.state for row in ledger_rows(store, file)} == {"done"})
    assert counts(store, kind) == exactly(kind, LINES)
    assert not long_file(store, file).content
    held.release.set()
    loading.join()
    assert long_file(store, file).content and loading.result.events == LINES


def test_a_file_that_grows_meanwhile_is_read_as_far_as_it_was_queued(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = prepare(store_settings, store, "earlygrows")
    file, held = write_log(tmp_path / "a.log", LINES, "grows"), HeldContent(monkeypatch)
    loading = LoadThread(settings, file, kind.name)
    assert held.reached.wait(60)
    with file.open("a") as opened:
        opened.writelines(line(number, "grows") + "\n" for number in range(LINES, LINES + 500))
    with worker_here(settings):
        # A worker finds another state of the file, and nothing yet to compare it with.
        wait_for(lambda: any(row.run for row in ledger_rows(store, file)))
        wait_for(lambda: {row.state for row in ledger_rows(store, file)} == {"queued"})
        held.release.set()
        loading.join()
    assert loading.result.events == LINES and counts(store, kind) == exactly(kind, LINES)
    assert load(settings, file, feed=kind.name).events == 500
    assert counts(store, kind) == exactly(kind, LINES + 500)


def test_a_file_that_changes_meanwhile_is_refused(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = prepare(store_settings, store, "earlychanged")
    file, held = write_log(tmp_path / "a.log", LINES, "red"), HeldContent(monkeypatch)
    loading = LoadThread(settings, file, kind.name)
    assert held.reached.wait(60)
    write_log(file, LINES, "two")
    held.release.set()
    loading.join()
    assert "changed while it was read; give it again" in str(loading.result.unread)
    with worker_here(settings):
        wait_for(lambda: {row.state for row in ledger_rows(store, file)} == {"failed"})
    assert {row.reason for row in ledger_rows(store, file)} == {
        f"{file}: changed before all of it was known; load it again"
    }
    assert load(settings, file, feed=kind.name).events == LINES
    assert counts(store, kind) == exactly(kind, LINES)


def test_of_two_loads_at_once_one_waits(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = prepare(store_settings, store, "earlytwice")
    file, held = write_log(tmp_path / "a.log", LINES, "twice"), HeldContent(monkeypatch)
    copy = tmp_path / "b.log"
    copy.write_bytes(file.read_bytes())
    with ExitStack() as stack:
        first = LoadThread(settings, file, kind.name)
        assert held.reached.wait(60)
        others = [LoadThread(settings, path, kind.name) for path in (file, copy)]
        stack.enter_context(worker_here(settings))
        wait_for(lambda: {row.state for row in ledger_rows(store, file)} == {"done"})
        # The signs of life of the first keep the others waiting.
        assert all(other.is_alive() for other in others) and not ledger_rows(store, copy)
        held.release.set()
        for loading in (first, *others):
            loading.join()
    assert counts(store, kind) == exactly(kind, LINES)


def test_of_two_that_draw_at_the_same_moment_one_at_most_goes_on(store: Store) -> None:
    class Meeting(LongFiles):
        """Lets neither go on before the other has done the same step: read, write, read again."""

        both = threading.Barrier(2)

        def read(self, length: int) -> list[LongFile]:
            found = super().read(length)
            self.both.wait(60)
            return found

        def write(self, file: LongFile) -> None:
            super().write(file)
            self.both.wait(60)

    drawn: list[EarlyFile | None] = []
    threads = [
        threading.Thread(target=lambda: drawn.append(EarlyFile.draw_identity(Meeting(store), 12345))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert drawn == [None, None] and not LongFiles(store).read(12345)
    again = EarlyFile.draw_identity(LongFiles(store), 12345)
    assert again is not None and LongFiles(store).read(12345) == [again.row]


def test_long_files_of_earlier_versions_are_known(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = prepare(store_settings, store, "earlyolder")
    file = write_log(tmp_path / "a.log", LINES, "older")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("watchfloor.ingest.records.long_files.LONG_BYTES", 1 << 40)
        load(settings, file, feed=kind.name)
    with store.sink() as sink:
        delete_cells(sink, ITEMS_TABLE, [(LONG_FILE, "indexed")], "")
        sink.flush()
    file.rename(tmp_path / "a.log.1")
    assert load(settings, tmp_path / "a.log.1", feed=kind.name).files[0].is_known
    assert counts(store, kind) == exactly(kind, LINES)
    assert [found.content for found in LongFiles(store).read((tmp_path / "a.log.1").stat().st_size)] == [
        row.item.file_id.hex() for row in ledger_rows(store, file)[:1] if row.item
    ]


def test_a_file_known_by_its_hash_is_not_queued_anew(
    store_settings: Settings, store: Store, write_log: WriteLog, tmp_path: Path
) -> None:
    """Nor is one of which only the first part is an earlier one's: other lengths say nothing of each other."""
    settings, kind = prepare(store_settings, store, "earlyhash")
    packed = tmp_path / "a.log.gz"
    packed.write_bytes(gzip.compress(write_log(tmp_path / "a.log", LINES, "hash").read_bytes()))
    assert load(settings, packed, feed=kind.name).events == LINES
    assert load(settings, tmp_path / "a.log", feed=kind.name).files[0].is_known
    assert counts(store, kind) == exactly(kind, LINES)
    assert not [row for row in Ledger(store).read_rows() if row.path == str(tmp_path / "a.log")]
