"""A load whose processes are killed in its middle ends without help, and every count is exact.

A worker's death comes between writes that differ from layout to layout, so it is tried in both. A server's death meets
the writers of entries and the queue, which know no layout: each is tried with the default one, blocks, and that of one
tablet server of two with the cells of the paper, which are the most entries under way.

In `make soak`: servers and workers are killed one after the other, and each recovery takes some 20 seconds.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import counts, exactly, load_while, log_file, own, source, workers_of
from own_stack import unsupervised

from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.load_result import LoadProgress, LoadResult
from watchfloor.ingest.queue.work_queue import queue_lag
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak]
LINES = 40_000


@pytest.fixture
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def load_while_killing(server: str, settings: Settings, kind: Source, folder: Path) -> LoadResult:
    """Loads LINES, and kills a server once that is under way."""

    def kill(progress: LoadProgress) -> bool:
        if not LINES // 10 < progress.events < LINES:
            return False
        os.kill(json.loads((settings.home / "run" / f"{server}.json").read_text())["pid"], signal.SIGKILL)
        return True

    return load_while(Load(settings, [log_file(folder / "a.log", LINES)], kind.name, workers=2), kill)


STEPS = ("event", "index", "aggregate", "flush", "ended")
"""What a worker has done last when it is killed: written events, index entries, counts; all durable; ledger written."""

# Imported by every worker as it starts. Each step kills one worker, and no item's worker is killed twice: an item that
# takes three with it is given up.
SUICIDE = """
import os, signal
from dataclasses import replace
from pathlib import Path
from watchfloor.ingest.reading.item_reader import ItemReader
from watchfloor.ingest.records.ledger import Ledger

def reached(step, item, before=lambda: None):
    died = FOLDER / item.item_id.hex()
    if step not in STEPS or died.exists():
        return
    try:
        (FOLDER / step).touch(exist_ok=False)
    except FileExistsError:
        return
    died.touch()
    before()
    os.kill(os.getpid(), signal.SIGKILL)

class Sink:
    def __init__(self, sink, item):
        self.sink, self.item = sink, item
    def write_rows(self, table, batch):
        self.sink.write_rows(table, batch)
        reached(table.rpartition(".")[2], self.item, self.sink.flush)
    def write_entries(self, table, batch):
        self.sink.write_entries(table, batch)
        reached(table.rpartition(".")[2], self.item, self.sink.flush)
    def write_ahead(self, table, batch):
        self.sink.write_ahead(table, batch)
        reached("ahead", self.item)
    def flush(self):
        self.sink.flush()
        reached("flush", self.item)

read, ended = ItemReader.read, Ledger.write_end_of
def read_here(self, task):
    return read(self, replace(task, event_sink=Sink(task.event_sink, task.item)))

ItemReader.read = read_here

def ended_here(self, item, run, end):
    assert ended(self, item, run, end)
    reached("ended", item)
    return True
Ledger.write_end_of = ended_here
"""


@pytest.mark.usefixtures("quick_restarts")
def test_workers_are_killed_between_their_writes(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = own(store_settings, "killed"), store.catalog.register(source("killed", layout))
    (tmp_path / "sitecustomize.py").write_text(f"STEPS = {STEPS}\n{SUICIDE}\nFOLDER = Path({str(tmp_path)!r})\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    lines = LINES // 4
    load = Load(settings, [log_file(tmp_path / "a.log", lines)], kind.name, workers=2)
    for _ in load:
        pass
    assert not [step for step in STEPS if not (tmp_path / step).exists()], "a step at which no worker was killed"
    assert (load.result.events, load.result.quarantined, load.result.failed) == (lines, 0, ())
    assert counts(store, kind) == exactly(kind, lines)


def test_the_only_tablet_server_is_killed(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """The supervisor starts it again, and the load needs no help either."""
    settings, kind = own(store_settings, "only"), store.catalog.register(source("only"))
    result = load_while_killing("tserver1", settings, kind, tmp_path)
    assert (result.events, result.quarantined, result.failed) == (LINES, 0, ())
    assert counts(store, kind) == exactly(kind, LINES)


def test_one_of_two_tablet_servers_is_killed(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """The other takes its tablets over; nobody starts anything."""
    start_stack(store_settings, tservers=2)
    settings, kind = own(store_settings, "other"), store.catalog.register(source("other", "cell"))
    with unsupervised(store_settings):
        result = load_while_killing("tserver1", settings, kind, tmp_path)
        assert (result.events, result.quarantined, result.failed) == (LINES, 0, ())
        assert counts(store, kind) == exactly(kind, LINES)


def test_the_queue_is_killed(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "broker"), store.catalog.register(source("broker"))
    result = load_while_killing("kafka", settings, kind, tmp_path)
    assert (result.events, result.failed) == (LINES, ())
    assert counts(store, kind) == exactly(kind, LINES)
    until = time.monotonic() + 30
    while queue_lag(settings) and time.monotonic() < until:
        time.sleep(1)


def test_no_worker_outlives_its_load(store_settings: Settings, tmp_path: Path) -> None:
    assert not workers_of(store_settings)
