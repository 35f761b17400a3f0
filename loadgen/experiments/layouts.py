"""The two layouts beside each other: what the same events cost to write, to keep and to filter."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from watchfloor.ingest.reading import read_item
from watchfloor.query.service import QueryRequest, QueryService
from watchfloor.schema.source import Source
from watchfloor.store.store import Store
from watchfloor.store.tables import disk_bytes

from ..generate import generate
from ..measure import Figure, Metric
from ..rig import Rig, say

SUMMARY = "ingest, disk and filtering of the cell and the block layout, with the same events"
HEAP = "512m"
LAYOUTS = ("cell", "block")
SCANS = {
    "pattern, no hit": ("path ~ /no such path anywhere/", ("ts",)),
    "equal, no hit": ("user_agent = nobody", ("ts",)),
    "number, one in twenty": ("bytes_out < 350", ("ts", "domain", "bytes_out")),
    "all": ("", ("ts", "domain", "status")),
}
"""Filters on fields without an index, and the columns that are asked for."""

INGEST = Metric(
    "ingest_events_per_second",
    "events/s",
    "events of the file / seconds from its first byte read to its last count flushed",
)
ENTRIES = Metric("entries_per_event", "", "entries written to all three tables / events")
DISK = Metric("bytes_per_event", "bytes", "files of all three tables, each compacted to one a tablet / events")
SCAN = Metric(
    "scan_events_per_second", "events/s", "events of the source / seconds of a whole `scan` query; not those found"
)
RATIO = Metric(
    "block_to_cell",
    "",
    "median of the block layout / median of the cell layout, for the metric named; samples: turn by turn",
)
METRICS = (INGEST, ENTRIES, DISK, SCAN, RATIO)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--events", metavar="N", type=int, default=200_000, help="proxy events (default 200000)")
    parser.add_argument("--turns", metavar="N", type=int, default=5, help="samples of each case (default 5)")


def run(rig: Rig, options: Namespace) -> list[Figure]:
    path = rig.folder / "proxy.json"
    with path.open("wb") as out:
        generate(out, options.events, options.seed)
    speeds: dict[str, list[float]] = defaultdict(list)
    entries: dict[str, float] = {}
    for turn in range(-1, options.turns):
        for layout in LAYOUTS:
            rate, entries[layout] = _ingest(rig, rig.source("proxy.events", layout=layout), path, drop=True)
            if turn >= 0:
                speeds[layout].append(rate)
        say(f"ingest: turn {turn + 1} of {options.turns}" if turn >= 0 else "ingest: warming up")
    sources = {layout: rig.source("proxy.events", layout=layout) for layout in LAYOUTS}
    for source in sources.values():
        _ingest(rig, source, path)
    sizes = {
        layout: disk_bytes(rig.store.connection.client, source) / options.events for layout, source in sources.items()
    }
    scans = _scans(rig, sources, options)
    figures = [
        *(Figure(INGEST, tuple(speeds[layout]), {"layout": layout}) for layout in LAYOUTS),
        _ratio(INGEST.name, *(tuple(speeds[layout]) for layout in LAYOUTS)),
        *(Figure(ENTRIES, (entries[layout],), {"layout": layout}) for layout in LAYOUTS),
        _ratio(ENTRIES.name, *((entries[layout],) for layout in LAYOUTS)),
        *(Figure(DISK, (sizes[layout],), {"layout": layout}) for layout in LAYOUTS),
        _ratio(DISK.name, *((sizes[layout],) for layout in LAYOUTS)),
    ]
    for name in SCANS:
        both = [tuple(scans[name, layout]) for layout in LAYOUTS]
        of = ({"layout": layout, "scan": name} for layout in LAYOUTS)
        figures += [Figure(SCAN, samples, each) for samples, each in zip(both, of, strict=True)]
        figures.append(_ratio(f"{SCAN.name}, {name}", *both))
    return figures


def _ratio(name: str, cell: tuple[float, ...], block: tuple[float, ...]) -> Figure:
    turns = tuple(b / c for b, c in zip(block, cell, strict=True))
    whole = Figure(RATIO, block).value / Figure(RATIO, cell).value
    return Figure(RATIO, turns, {"metric": name}, derived=whole)


def _ingest(rig: Rig, source: Source, path: Path, drop: bool = False) -> tuple[float, float]:
    """Events a second of a worker's own code, without the queue, and entries an event."""
    with rig.store.sink() as sink:
        began = time.perf_counter()
        end = read_item(rig.store, sink, rig.item(path, source), lambda done, events, quarantined: None)
        seconds = time.perf_counter() - began
    if drop:
        rig.drop(source)
    return end.events / seconds, end.entries / end.events


def _scans(rig: Rig, sources: dict[str, Source], options: Namespace) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    with Store.open(rig.settings, role="query") as store:
        service = QueryService(store)
        for turn in range(-1, options.turns):
            rows = {}
            for name, layout in _cases():
                where, columns = SCANS[name]
                request = QueryRequest(sources[layout].name, where=where or None, columns=columns, scheme="scan")
                began = time.perf_counter()
                rows[name, layout] = sum(map(len, service.run(request)))
                if turn >= 0:
                    found[name, layout].append(options.events / (time.perf_counter() - began))
            assert all(rows[name, "cell"] == rows[name, "block"] for name in SCANS), rows
            say(f"scans: turn {turn + 1} of {options.turns}" if turn >= 0 else f"scans: warming up; rows {rows}")
    return found


def _cases() -> Iterator[tuple[str, str]]:
    for name in SCANS:
        for layout in LAYOUTS:
            yield name, layout
