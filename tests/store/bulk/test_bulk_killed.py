"""Bulk workers that are killed in, after and beside an import leave every event once and no folder.

In `make soak`: workers are killed and others wait until their items are free.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bulk_loads import folders, load_killed
from ingest_support import counts, exactly, log_file, own, source

from watchfloor.ingest.intake.load import Load
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]

IN_AND_AFTER_AN_IMPORT = """
has_room, remove_folders = BulkSink._await_room, BulkSink._remove_folders

def begin(self):
    threading.Timer(0.1, die, ["importing"]).start()
    return has_room(self)

def end(self):
    if self._folders:
        die("imported")
    remove_folders(self)

BulkSink._await_room, BulkSink._remove_folders = begin, end
"""


@pytest.mark.crash
@pytest.mark.usefixtures("quick_restarts")
def test_workers_killed_in_and_after_an_import(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next worker removes what they have left."""
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
hold, flush = BulkSink._buffer_batch, BulkSink.flush

def another_writes(self, *what):
    with lock:
        if not first:
            first.append(self)
        if first[0] is not self:
            second.set()
    hold(self, *what)

def wait_for_another(self):
    if first == [self]:
        if second.wait(10):
            die("side by side")
            (HERE / "side by side again").touch()
        with lock:
            first.clear()
            second.clear()
    flush(self)

BulkSink._buffer_batch, BulkSink.flush = another_writes, wait_for_another
"""


@pytest.mark.crash
@pytest.mark.usefixtures("quick_restarts")
def test_the_next_item_is_read_while_one_is_imported(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one worker, which is killed when it does so for the first time. Only then do later items write before an
    earlier one is flushed. The two of that time are read again one after the other, and the next two side by side.
    """
    settings, lines = own(store_settings, "bulk_lanes", ingest_mode="bulk"), 3000
    kind = store.catalog.register(source("bulk_lanes"))
    files = [log_file(tmp_path / f"{name}.log", lines, salt=name) for name in "abcd"]
    result = load_killed(SIDE_BY_SIDE, ("side by side",), Load(settings, files, kind.name), tmp_path, monkeypatch)
    assert (tmp_path / "side by side again").exists()
    assert (result.events, result.quarantined, result.failed) == (4 * lines, 0, ())
    assert counts(store, kind) == exactly(kind, 4 * lines)
    assert not folders(store)
