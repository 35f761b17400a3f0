"""``bench backup``: a source is exported while a load into it goes on, and imported; all is compared with the files.

    load file 1 ─▶ begin to load file 2 ─▶ export ─▶ import as another source ─▶ end of the load
        ─▶ sums over the lines of the exported items, read from the files ═ stats of the imported source

The import compares number and digest of all entries itself, and fails if they differ.
"""

from __future__ import annotations

import io
import threading
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from watchfloor.ingest.backup.export import export_sources
from watchfloor.ingest.backup.restore import import_sources
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.load_result import LoadResult
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import EventFile, LoadCase, load_file, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.errors import InternalError
from watchfloor.schema.source import Source
from watchfloor.store.backup.entry_files import read_entries
from watchfloor.store.backup.manifest import RECORDS, Manifest

EXPORT = Metric(
    "backup_export_events_per_second", "events/s", "events in the backup / seconds of the export", title="export"
)
IMPORT = Metric(
    "backup_import_events_per_second",
    "events/s",
    "the same events / seconds of the import, in which all files and all entries are compared",
    title="import",
)
HELD = Metric(
    "backup_held_seconds", "s", "from the export's begin until the moment is held in clones", title="until the moment"
)
SIZE = Metric(
    "backup_bytes_per_event", "bytes", "bytes of all files of the backup / its events", better="lower", title="size"
)
DURING = Metric(
    "backup_load_events", "events", "events that the load has written while the export ran", better=None,
    title="events loaded meanwhile",
)  # fmt: skip
WHOLE = Metric(
    "backup_whole", "", "1 if the imported source has exactly the events of the exported work items: number, sums and "
    "groups are those of the lines of the files", better="higher", exact=True, title="whole backup (1 is yes)",
)  # fmt: skip
METRICS = (EXPORT, IMPORT, HELD, SIZE, DURING, WHOLE)
_STATS = "count() as events, sum(bytes_out) as bytes by action, method"
_Sums = dict[tuple[str | None, str | None], tuple[int, int]]


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", 5_000_000, "proxy events of each of the two files")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    first = write_events(session.folder / "first.json", options.events, options.seed)
    second = write_events(session.folder / "second.json", options.events, options.seed + 1)
    source = session.create_source(first.feed)
    load_file(session, source, first, LoadCase("block", file="whole", workers=1))
    folder = session.folder / "backup"
    with _Loading(session, source, second) as loading:
        loading.await_events(options.events // 20)
        before = loading.events
        done = export_sources(session.store, [source.name], folder, print_progress)
        during = loading.events - before
        copy = session.adopt_source(source, f"{source.name}_copy")
        imported = import_sources(session.store, folder, copy.name, print_progress)
    events = done.manifest.sources[source.name].events
    print_progress(f"{events:,} of {2 * options.events:,} events exported, {during:,} loaded meanwhile")
    wanted = _sum_lines(done.manifest, folder)
    found = _sum_events(session, copy.name)
    is_whole = wanted == found and sum(count for count, _ in found.values()) == events >= options.events
    return [
        Figure(EXPORT, (events / done.seconds,), {}),
        Figure(IMPORT, (events / imported.seconds,), {}),
        Figure(HELD, (done.held,), {}),
        Figure(SIZE, (done.bytes / events,), {}),
        Figure(DURING, (float(during),), {}),
        Figure(WHOLE, (float(is_whole),), {}, Goal(1, at_most=False)),
    ]


class _Loading:
    """A load that runs beside, by one worker process."""

    def __init__(self, session: BenchSession, source: Source, file: EventFile) -> None:
        self._load = Load(session.settings, [file.path], source.name, workers=1)
        self._wanted = file.events
        self._moved = threading.Condition()
        self._thread = threading.Thread(target=self._run)
        self._ended = False
        self.events = 0

    def await_events(self, events: int) -> None:
        """Returns when so many events are loaded. Raises ``InternalError`` if the load ends before."""
        with self._moved:
            self._moved.wait_for(lambda: self._ended or self.events >= events)
            if self._ended:
                raise InternalError("the load ended before the export began")

    def _run(self) -> None:
        try:
            for progress in self._load:
                with self._moved:
                    self.events = progress.events
                    self._moved.notify_all()
        finally:
            with self._moved:
                self._ended = True
                self._moved.notify_all()

    def __enter__(self) -> _Loading:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._thread.join()
        result: LoadResult = self._load.result
        if kind is None and (not result.clean or result.events != self._wanted):
            raise InternalError(f"{self._wanted:,} events should have been loaded, and loaded were {result}")


def _sum_lines(manifest: Manifest, folder: Path) -> _Sums:
    """Returns number and bytes of the lines of the exported work items, by action and method, from their files."""
    sums: dict[tuple[str | None, str | None], Counter[str]] = {}
    for item in _list_items(manifest, folder):
        with Path(item.path).open("rb") as file:
            file.seek(item.start)
            lines = pj.read_json(io.BytesIO(file.read(item.end - item.start)), pj.ReadOptions(block_size=64 << 20))
        groups = lines.group_by(["action", "method"]).aggregate([([], "count_all"), ("bytes_out", "sum")])
        for group in groups.to_pylist():
            of = sums.setdefault((group["action"], group["method"]), Counter())
            of.update(events=group["count_all"], bytes=group["bytes_out_sum"] or 0)
    return {key: (of["events"], of["bytes"]) for key, of in sums.items()}


def _list_items(manifest: Manifest, folder: Path) -> Iterator[WorkItem]:
    for batch in read_entries(folder / RECORDS / "items", manifest.records["items"]):
        queued = batch.filter(pc.equal(batch.column("qualifier"), pa.scalar(b"queued", pa.binary())))
        for value in queued.column("value").to_pylist():
            yield WorkItem.from_json(orjson.loads(value)["item"].encode())


def _sum_events(session: BenchSession, name: str) -> _Sums:
    """Returns the same of the events of a source."""
    table = QueryService(session.store).aggregate(StatsQuery(name, _STATS))
    return {(g["action"], g["method"]): (int(g["events"]), int(g["bytes"] or 0)) for g in table.to_pylist()}


EXPERIMENT = Experiment(
    name="backup",
    summary="a source is exported during a load and imported: exactness, events/s, size",
    metrics=METRICS,
    quick_options=("--events", "200000"),
    quick_seconds=40,
    add_options=add_options,
    run=run,
)
