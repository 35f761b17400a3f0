"""Blocks through the queue and real workers: exactly once, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import Counts, counts, exactly, line, load, load_while, log_file, own, source, workers_of

from watchfloor.ingest.load import Load, Progress
from watchfloor.query.service import QueryRequest, QueryService
from watchfloor.store.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


def in_blocks(events: int) -> Counts:
    """The counts of ``events`` events that have all fields: the index's hits are those of values."""
    return replace(exactly(events), hosts_days=0, hosts_hours=0)


@pytest.fixture
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def test_reading_again_changes_nothing(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "blocks"), store.register(source("blocks", layout="block"))
    file = log_file(tmp_path / "a.log", 20_000)
    for again in (False, True):
        result = load(settings, file, feed=kind.name, again=again)
        assert (result.events, result.quarantined, result.failed) == (20_000, 0, ())
        assert counts(store, kind) == in_blocks(20_000)


def test_reading_with_another_definition_leaves_nothing_of_the_first(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """Every other line has a field that the first definition lacks. Another file's blocks, not read again, stay."""
    settings, kind = own(store_settings, "wider"), store.register(source("wider", layout="block"))
    file = tmp_path / "a.log"
    file.write_text("".join((line(i, colour=f"c{i % 7}") if i % 2 else line(i)) + "\n" for i in range(3000)))
    other = log_file(tmp_path / "b.log", 1000, "other")
    first = load(settings, file, other, feed=kind.name)
    assert (first.events, first.quarantined) == (2500, 1500)
    assert counts(store, kind) == in_blocks(2500)

    wider = store.register(
        source("wider", extra=({"name": "colour", "type": "string", "indexed": True},), layout="block")
    )
    result = load(settings, file, feed=kind.name, again=True)
    assert (result.events, result.quarantined) == (3000, 0)
    found = counts(store, wider)
    assert (found.events, found.index, found.total_days) == (4000, 2 * 4000 + 1500, 4000)
    red = QueryService(store).run(QueryRequest(kind.name, where="colour = c3", columns=("n",)))
    assert sum(map(len, red)) == sum(1 for i in range(1, 3000, 2) if i % 7 == 3)


@pytest.mark.crash
def test_a_worker_is_killed(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    lines = 120_000
    settings, kind = own(store_settings, "killblocks"), store.register(source("killblocks", layout="block"))
    killed = 0

    def kill(progress: Progress) -> bool:
        nonlocal killed
        if progress.events > killed * lines // 5 and (workers := workers_of(settings)):
            workers[killed % len(workers)].kill()
            killed += 1
        return killed == 3

    result = load_while(Load(settings, [log_file(tmp_path / "a.log", lines)], kind.name, workers=2), kill)
    assert (result.events, result.quarantined, result.failed) == (lines, 0, ())
    assert counts(store, kind) == in_blocks(lines)
