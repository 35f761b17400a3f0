"""Common parts of the tests of ingest: own sources, files of known content, counts read straight from tables."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import psutil
from block_store import hits_of_blocks

from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.load_result import LoadProgress, LoadResult
from watchfloor.ingest.intake.master import watch_folders
from watchfloor.ingest.queue.work_queue import open_admin, read_offsets
from watchfloor.ingest.records.ledger import Ledger, LedgerRow
from watchfloor.ingest.worker.pool import WorkerPool
from watchfloor.ingest.worker.worker import run_worker
from watchfloor.schema.definition import DEFAULT_LAYOUT, parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import SHARD_BYTES, aggregate_table, event_table, index_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layouts.block.blocks.block_keys import FILE, OFFSET, OFFSET_FIELD
from watchfloor.store.layouts.block.epochs.block_view import read_view
from watchfloor.store.layouts.block.vectors.vector import decode_binary, decode_vector
from watchfloor.store.store import Store

START = 1_700_000_000
RUN = secrets.token_hex(3)
"""Sources of this run have names of their own, so that a stack may serve several."""


def own(settings: Settings, name: str, **changes: object) -> Settings:
    """Returns settings with a queue of this test's own, and small items so that a small file is long work."""
    queue = f"watchfloor.{name}.{secrets.token_hex(3)}"
    small: dict[str, object] = {"partitions": 4, "item_bytes": 32 << 10, "chunk_bytes": 32 << 10}
    return replace(settings, topic=queue, group=queue, **{**small, **changes})  # type: ignore[arg-type]


def source(name: str, layout: str = DEFAULT_LAYOUT, extra: tuple[dict[str, object], ...] = ()) -> Source:
    """Returns a source of a test's own; its names in the two layouts differ."""
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "host", "type": "string", "indexed": True},
        {"name": "n", "type": "int", "indexed": True},
        {"name": "text", "type": "string"},
        *extra,
    ]
    definition = {
        "name": f"test{RUN}.{name}_{layout}",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": fields,
        "layout": layout,
    }
    return parse_definition({**definition, "shards": 2})


def line(number: int, salt: str = "", **more: object) -> str:
    event = {"ts": START + number * 7, "host": f"h{number % 5}", "n": number % 3, "text": f"{salt}{number:07d}" * 4}
    return json.dumps({**event, **more})


def log_file(path: Path, lines: int, salt: str = "") -> Path:
    path.write_text("".join(line(i, salt) + "\n" for i in range(lines)))
    return path


def ledger_rows(store: Store, path: Path) -> list[LedgerRow]:
    return [row for row in Ledger(store).read_rows() if row.path == str(path)]


def count_messages(settings: Settings) -> int:
    """Returns the number of messages that the topic has ever held."""
    with open_admin(settings) as admin:
        return sum(offsets.end for offsets in read_offsets(admin, settings).values())


@dataclass(frozen=True)
class Counts:
    """The sums of a whole source in its three tables, each on its own."""

    events: int
    index: int
    total_days: int
    total_hours: int
    total_minutes: int
    hosts_days: int
    hosts_hours: int


def counts(store: Store, source: Source) -> Counts:
    """Counts from the tables' bytes; the code under test has no part in it."""
    events, index = _blocks(store, source) if source.layout == "block" else _cells(store, source)
    sums: Counter[tuple[bytes, bytes]] = Counter()
    for batch in _scan(store, aggregate_table(source)):
        columns = (batch.column(name).to_pylist() for name in ("row", "family", "value"))
        for row, family, value in zip(*columns, strict=True):
            sums[row[4:].split(b"\x00")[0], family] += int.from_bytes(value, "big")
    return Counts(
        events,
        index,
        sums[b"", b"d"],
        sums[b"", b"h"],
        sums[b"", b"m"],
        sums[b"host", b"d"] + sums[b"host", b"s"],
        sums[b"host", b"h"] + sums[b"host", b"s"],
    )


def _cells(store: Store, source: Source) -> tuple[int, int]:
    """Returns the numbers of events and of entries of the index."""
    rows = set()
    for batch in _scan(store, event_table(source)):
        rows.update(batch.column("row").to_pylist())
    return len(rows), sum(batch.num_rows for batch in _scan(store, index_table(source)))


def _blocks(store: Store, source: Source) -> tuple[int, int]:
    """Returns the numbers of events and of hits in the index. Fails if two blocks have the same line.

    Blocks that were replaced are left out: they stay until a compaction deletes them.
    """
    view = read_view(store, source.name)

    def is_seen(shard: bytes, key: bytes) -> bool:
        return view.find_seen(np.frombuffer(key + shard, np.uint8).reshape(1, -1)) is None

    lines: list[tuple[bytes, int]] = []
    vectors: dict[bytes, dict[bytes, bytes]] = defaultdict(dict)
    zones: dict[bytes, set[bytes]] = defaultdict(set)
    for batch in _scan(store, event_table(source)):
        columns = (batch.column(name).to_pylist() for name in ("row", "family", "qualifier", "value"))
        for row, family, qualifier, value in zip(*columns, strict=True):
            if family:
                zones[row].add(qualifier)
            else:
                vectors[row][qualifier] = value
    assert zones == {row: set(cells) for row, cells in vectors.items()}, "each vector has a zone"
    for row, cells in vectors.items():
        if not is_seen(row[:SHARD_BYTES], row[SHARD_BYTES:]):
            continue
        files = decode_binary(cells[FILE.encode()]).to_pylist()
        lines += zip(files, decode_vector(OFFSET_FIELD, cells[OFFSET.encode()]).to_pylist(), strict=True)
    assert len(lines) == len(set(lines)), "an event is in two blocks"
    hits = 0
    for batch in _scan(store, index_table(source)):
        columns = (batch.column(name).to_pylist() for name in ("row", "qualifier", "value"))
        for row, key, value in zip(*columns, strict=True):
            found = hits_of_blocks(key, value)
            hits += sum(count for block, count in found.items() if is_seen(row[:SHARD_BYTES], block))
    return len(lines), hits


def exactly(source: Source, events: int) -> Counts:
    """Returns the counts of ``events`` events that have all fields. In blocks the index counts values."""
    hosts = events if source.layout == "cell" else 0
    return Counts(events, 2 * events, events, events, events, hosts, hosts)


def _scan(store: Store, table: str) -> Iterator:  # type: ignore[type-arg]
    ranges = Ranges()
    ranges.add_rows(b"", None)
    return store.scan(EntryScan(table, ranges))


@contextmanager
def worker_here(settings: Settings) -> Iterator[None]:
    """Runs a worker in this process, whose JVM is warm: it is at work seconds sooner than a process of its own."""
    stop = threading.Event()
    thread = threading.Thread(target=run_worker, args=(settings, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class PoolHere:
    """Takes the place of a ``WorkerPool``: its worker is a thread of this process."""

    least_deaths = 0

    def __init__(self, settings: Settings, workers: int, log_file: Path | None = None) -> None:
        self._settings, self._worker = settings, ExitStack()
        self._is_wanted = workers > 0

    def restart_dead(self) -> None:
        if self._is_wanted:
            self._is_wanted = False
            self._worker.enter_context(worker_here(self._settings))

    def stop(self) -> None:
        self._worker.close()


@contextmanager
def running_master(settings: Settings, folder: Path, feed: str | None, **options: object) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=watch_folders, args=(settings, [folder], stop), kwargs={"feed": feed, **options})
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


def load(settings: Settings, *paths: Path, feed: str | None = None, again: bool = False) -> LoadResult:
    """Loads files by a worker in this process; with None of the kinds that their first lines tell."""
    run = Load(settings, paths, feed, workers=0, again=again)
    with worker_here(settings):
        for _ in run:
            pass
    return run.result


def load_while(run: Load, act: Callable[[LoadProgress], bool]) -> LoadResult:
    """Loads; calls ``act`` with the progress until it says that it has acted. Fails if the load ends before."""
    acted = False
    for progress in run:
        if not acted and progress.phase == "loading":
            acted = act(progress)
    assert acted, "the load was over before anything happened to it"
    return run.result


@contextmanager
def pool(settings: Settings, workers: int = 1) -> Iterator[WorkerPool]:
    stop = threading.Event()
    workers_pool = WorkerPool(settings, workers, settings.home / "log" / "test-worker.log")
    thread = threading.Thread(target=workers_pool.run, args=(stop,))
    thread.start()
    try:
        yield workers_pool
    finally:
        stop.set()
        thread.join()


def workers_of(settings: Settings) -> list[psutil.Process]:
    """Returns the worker processes that this process has started."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # It may have ended since.
            if child.is_running() and "watchfloor.ingest.worker" in child.cmdline():
                found.append(child)
    return found


def wait_for(what: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.2)
