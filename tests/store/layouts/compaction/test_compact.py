"""Answers are right before, during and after a compaction on real servers, however it ends and whatever else runs.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from block_store import hits_of_blocks
from compact_support import BLOCK_ROWS, DAYS, END, FIRST_DAY, Fed, answers, assert_right, expected, make_source
from ingest_support import RUN, wait_for

from watchfloor.query.batches.settings import BatchSettings
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin import tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bulk.tablet_files import read_table_files
from watchfloor.store.encoding.keys import DAY, MAX_TIME, event_table, index_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layouts.block.compaction.compaction import CompactionResult, compact_blocks
from watchfloor.store.layouts.block.compaction.merge_plan import list_blocks
from watchfloor.store.layouts.block.epochs.block_view import EpochState, read_view
from watchfloor.store.layouts.block.epochs.epochs import EpochAbortedError, EpochWriter
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

GRACE = 2.0
"""Far more than a read of these few events takes, also on a busy machine; or the read says that it took too long."""
Step = Callable[[str], None]


@pytest.fixture(scope="module")
def labels(store_settings: Settings) -> None:
    """Has the users of stores that are opened from now on see what the sources here are labelled with."""
    with Store.open(store_settings) as opened:
        opened.catalog.register(make_source(f"compact{RUN}.labels"))


@pytest.fixture(scope="module")
def store(store_settings: Settings, labels: None) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        opened.grace = GRACE
        yield opened


@pytest.fixture(scope="module")
def service(store_settings: Settings, labels: None) -> Iterator[QueryService]:
    with Store.open(store_settings, role="query") as opened:
        opened.grace = GRACE
        yield QueryService(opened)


def fed(store: Store, name: str, items: int, seed: int) -> Fed:
    made = Fed(store.catalog.register(make_source(f"compact{RUN}.{name}")))
    made.feed(store, items, seed)
    return made


def run(store: Store, source: Fed, step: Step = lambda done: None, closed: int = END) -> CompactionResult:
    return compact_blocks(store, source.source, lambda: set(source.tags), closed, BLOCK_ROWS, step)


def assert_merged(store: Store, source: Fed, days: int = DAYS) -> None:
    """Nothing is left of what was replaced, and each closed day has one small block at most."""
    listing = list_blocks(store, source.source)
    assert listing.seen.all() and len(listing.view.died) == 0 and not listing.view.state.owner
    assert int(listing.events.sum()) == len(source.events)
    assert int((listing.events < BLOCK_ROWS / 2).sum()) <= days
    hits = sum(
        sum(hits_of_blocks(key, value).values())
        for batch in scan(store, index_table(source.source))
        for key, value in zip(batch.column("qualifier").to_pylist(), batch.column("value").to_pylist(), strict=True)
    )
    assert hits == sum((1 + (n is not None)) + len(set(tags or ())) for _, _, n, tags, _ in source.events)


def count_shared(store: Store, source: Fed) -> int:
    """The number of index entries that have hits of several blocks."""
    batches = list(scan(store, index_table(source.source)))
    return sum(len(value) > 4 for batch in batches for value in batch.column("value").to_pylist())


def scan(store: Store, table: str) -> Iterator[Any]:
    everything = Ranges()
    everything.add_rows(b"", None)
    return store.scan(EntryScan(table, everything))


@contextmanager
def asking(service: QueryService, source: Fed) -> Iterator[Step]:
    """Asks of the events of hosts h0 to h3 all the time. Fails at the end if an answer was wrong.

    Gives what, called between the steps of a compaction, waits for an answer.
    """
    events, stop, wrong = list(source.events), threading.Event(), []
    asked = 0

    def ask() -> None:
        nonlocal asked
        draw = random.Random(0)
        while not stop.is_set() and not wrong:
            low, high = sorted(draw.sample(range(FIRST_DAY, END), 2))
            ends = (low, high) if draw.random() < 0.5 else (FIRST_DAY, END)
            host = f"h{draw.randrange(4)}"
            try:
                found = answers(service, source.source, ends, host, asked)
                if found != expected(events, ends, host):
                    wrong.append((ends, host, found, expected(events, ends, host)))
            except StoreError as error:
                if "took too long" not in str(error):
                    wrong.append(error)
            except BaseException as error:
                wrong.append(error)
            asked += 1

    def wait(done: str) -> None:
        before = asked
        wait_for(lambda: wrong or asked > before)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield wait
    finally:
        stop.set()
        thread.join()
    assert not wrong, wrong[0]


def on_disk(store: Store, source: Source) -> int:
    """Bytes of a source's files when there is one a tablet."""
    tables.compact_source(store.connection, source)
    return sum(files.bytes for files in read_table_files(store, source).values())


def test_answers_are_right_all_the_time(store: Store, service: QueryService) -> None:
    """With late events coming in as it goes."""
    source = fed(store, "while", 60, seed=1)
    tables_of = [table(source.source) for table in (event_table, index_table)]
    entries = [sum(map(len, scan(store, table))) for table in tables_of]
    disk = on_disk(store, source.source)
    steps: list[tuple[str, float]] = []

    def step(done: str) -> None:
        steps.append((done, time.monotonic()))
        wait(done)
        if done not in (name for name, _ in steps[:-1]):
            source.feed(store, 1, len(steps), host="late")

    with asking(service, source) as wait:
        done = run(store, source, step)
    assert done.after < done.before / 4 and done.rounds >= 1
    assert {"begun", "written", "listed", "committed", "horizon", "deleted"} <= {name for name, _ in steps}
    committed = max(at for name, at in steps if name == "committed")
    assert max(at for name, at in steps if name == "horizon") - committed >= GRACE, "queries have time to end"
    run(store, source)
    assert_merged(store, source)
    assert_right(service, source, seed=2)
    assert answers(service, source.source, (FIRST_DAY, END), "late", 0) == expected(
        source.events, (FIRST_DAY, END), "late"
    )
    assert all(sum(map(len, scan(store, table))) < before / 2 for table, before in zip(tables_of, entries, strict=True))
    assert on_disk(store, source.source) < disk
    again = run(store, source)
    assert (again.rounds, again.events, again.before) == (0, 0, again.after)


def test_what_stays_of_an_index_entry(store: Store, service: QueryService) -> None:
    """Full blocks stay, and have shared entries with small ones that are merged."""
    source = fed(store, "stay", 0, seed=6)
    source.feed(store, 12, 7, sizes=(220, 256))
    before = {row.tobytes() for row in list_blocks(store, source.source).rows}
    shared = count_shared(store, source)
    run(store, source)
    assert_merged(store, source)
    stayed = before & {row.tobytes() for row in list_blocks(store, source.source).rows}
    assert len(stayed) >= 20 and len(before - stayed) >= 5 and count_shared(store, source) > shared / 2 > 0
    assert_right(service, source, seed=8)


KILLED = """
    import os, signal, threading
    from watchfloor.store.layouts.block.compaction.compaction import compact_blocks
    from watchfloor.schema.settings.load import load_settings
    from watchfloor.store.store import Store

    def step(done):
        if done == {at!r} == "horizon":  # in the middle of what it deletes
            threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGKILL)).start()
        elif done == {at!r}:
            os.kill(os.getpid(), signal.SIGKILL)

    with Store.open(load_settings({home!r})) as store:
        store.grace = 0.5
        compact_blocks(store, store.catalog.find_source({name!r}), lambda: {tags!r}, {end}, {rows}, step)
"""


@pytest.mark.crash
def test_it_is_killed_anywhere(store: Store, service: QueryService, store_settings: Settings) -> None:
    """A killed run leaves nothing that does harm, and the next run, which is killed too, begins with it."""
    source = fed(store, "killed", 20, seed=3)
    home, name = str(store_settings.home), source.source.name
    for seed, at in enumerate(("written", "committed", "horizon"), 10):
        source.feed(store, 10, seed)
        source.feed(store, 2, seed + 50, sizes=(220, 256))
        program = KILLED.format(at=at, home=home, name=name, tags=source.tags, end=END, rows=BLOCK_ROWS)
        ended = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, check=False
        )
        assert ended.returncode == -9, ended.stderr
        assert bool(read_view(store, name).state.owner) == (at == "written")
        assert_right(service, source, seed)
    run(store, source)
    assert_right(service, source, seed=20)
    assert_merged(store, source)


def test_it_fails_anywhere(store: Store, service: QueryService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time somewhere else, and each time in the middle of what the one before has left."""
    monkeypatch.setattr(store, "grace", 0.5)
    source = fed(store, "fails", 5, seed=4)
    for seed, at in enumerate(("begun", "written", "listed", "committed", "horizon", "deleted"), 30):
        source.feed(store, 10, seed)

        def step(done: str, at: str = at) -> None:
            if done == at:
                raise StoreError("the disk is on fire")

        with pytest.raises(StoreError, match="on fire"):
            run(store, source, step)
        assert not read_view(store, source.source.name).state.owner
        assert_right(service, source, seed)
    run(store, source)
    assert_right(service, source, seed=6)
    assert_merged(store, source)


def test_two_at_once(store: Store, service: QueryService) -> None:
    source = fed(store, "two", 40, seed=7)
    failed: list[BaseException] = []

    def second() -> None:
        try:
            run(store.with_authorizations(()), source)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=second)
    with asking(service, source):
        thread.start()
        run(store, source)
        thread.join()
    assert not failed
    run(store, source)
    assert_merged(store, source)
    assert_right(service, source, seed=8)


def test_who_is_aborted_cannot_commit(store: Store) -> None:
    """A host that was slow for too long, say."""
    source = fed(store, "slow", 2, seed=9).source
    slow, other = EpochWriter(store, source), EpochWriter(store, source)
    mine = slow.begin_epoch(slow.await_turn(0))
    assert mine is not None and other.begin_epoch(mine) is None
    state = other.await_turn(0.2)
    assert (state.aborted, state.owner) == ((mine.begun,), "")
    with pytest.raises(EpochAbortedError, match="aborted by another"):
        slow.commit_epoch()
    theirs = other.begin_epoch(state)
    assert theirs is not None and theirs.begun == mine.begun + 1
    assert slow.begin_epoch(state) is None, "planned before the other began"
    assert other.commit_epoch() == EpochState(epoch=2, begun=2, aborted=(1,)) == read_view(store, source.name).state


def test_only_settled_items_of_closed_days_take_part(store: Store) -> None:
    source = fed(store, "settled", 30, seed=11)
    before = {row.tobytes() for row in list_blocks(store, source.source).rows}
    every, source.tags = source.tags, set()
    assert run(store, source).rounds == 0
    source.tags = set(sorted(every)[:15])
    run(store, source, closed=END - 1)
    left = {row.tobytes() for row in list_blocks(store, source.source).rows}
    last_day = {row for row in before if MAX_TIME - int.from_bytes(row[4:12], "big") >= END - DAY}
    others = {row for row in before if row[16:20] not in source.tags}
    assert last_day and others and before & left == last_day | others


def test_a_query_that_takes_too_long_says_so(store: Store, service: QueryService) -> None:
    source = fed(store, "long", 60, seed=12)
    request = QueryRequest(source.source.name, columns=("ts",), scheme="scan", batching=BatchSettings(policy="none"))
    batches = iter(service.run(request))
    next(batches)
    run(store, source)
    with pytest.raises(StoreError, match="compacted meanwhile"):
        for _ in batches:
            pass
    assert sum(map(len, service.run(request))) == len(source.events)


def test_a_long_query_without_a_compaction_ends_well(service: QueryService, store: Store) -> None:
    source = fed(store, "quiet", 60, seed=13)
    request = QueryRequest(source.source.name, columns=("ts",), scheme="scan", batching=BatchSettings(policy="none"))
    batches = iter(service.run(request))
    rows = len(next(batches))
    threading.Event().wait(GRACE * 1.5)
    assert rows + sum(map(len, batches)) == len(source.events)
