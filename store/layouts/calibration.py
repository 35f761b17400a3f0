"""Measures what reading costs on a store, for the planner (``watchfloor.schema.read_costs.ReadCosts``).

A source that holds a sample of known events is read through its layout in several ways. Each differs from another in
one respect, and the difference of the two times is a cost.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from watchfloor.schema.filter.tree import Compare, Filter
from watchfloor.schema.read_costs import ReadCosts
from watchfloor.schema.source import Source
from watchfloor.store.layout import ReadRequest
from watchfloor.store.store import Store

from .registry import find_layout

ROUNDS, WARM_UP_ROUNDS = 11, 20
FIRST_ROWS = 20
"""Rows of a first batch, the number for which a query asks."""
NEWEST_MICROS = 10_000_000


@dataclass(frozen=True)
class SampleCondition:
    """An equality on an indexed field, and how many events of the sample satisfy it."""

    condition: Compare
    events: int


@dataclass(frozen=True)
class CalibrationSample:
    """The events of a source: ``events`` of them in [``since``, ``until``), µs since 1970 UTC.

    ``rare``, ``middling`` and ``popular`` are conditions of growing frequency. ``single`` is true of one event and
    ``pattern`` is a regular expression true of few; the index can answer neither.
    """

    since: int
    until: int
    events: int
    rare: SampleCondition
    middling: SampleCondition
    popular: SampleCondition
    single: Filter
    pattern: Filter


def measure_costs(store: Store, source: Source, sample: CalibrationSample) -> ReadCosts:
    """Returns the costs of reading ``source``, which holds the sample. They are in seconds, from median times."""
    reader = _SampleReader(store, source, sample)
    events, popular, middling = sample.events, sample.popular.events, sample.middling.events
    one_place = reader.read_index(sample.rare.condition)[:1]
    some_places = reader.read_index(sample.middling.condition)
    entries = len(reader.read_index(sample.popular.condition))
    times = _measure_medians(
        {
            "start": lambda: reader.scan_newest(sample.single),
            "nothing": lambda: reader.scan_events(sample.single),
            "pattern": lambda: reader.scan_events(sample.pattern),
            "middling": lambda: reader.scan_events(sample.middling.condition),
            "dense": lambda: reader.scan_events(sample.popular.condition),
            "one": lambda: reader.fetch_events(one_place, sample.rare.condition),
            "some": lambda: reader.fetch_events(some_places, sample.middling.condition),
            "entries": lambda: len(reader.read_index(sample.popular.condition)),
        }
    )
    default = find_layout(source).costs
    places = len(some_places)
    row = max(0.0, times["dense"] - times["middling"]) / (popular - middling)
    hit = max(0.0, times["middling"] - times["nothing"] - middling * row) / places
    return replace(
        default,
        scan=times["start"],
        event=max(0.0, times["nothing"] - times["start"]) / events,
        pattern=max(0.0, times["pattern"] - times["nothing"]) / events,
        hit=hit if default.place_events > 1 else 0.0,
        look_up=times["one"],
        place=max(0.0, times["some"] - times["one"] - middling * row) / max(1, places - 1),
        # Blocks have few index entries, and a query reads these when its plan is made.
        entry=times["entries"] / max(1, entries) if default.place_events == 1 else 0.0,
        row=row,
    )


class _SampleReader:
    """Reads one source by its layout, as a query's executor does. Each call has a snapshot of its own."""

    def __init__(self, store: Store, source: Source, sample: CalibrationSample) -> None:
        self._store, self._source, self._layout = store, source, find_layout(source)
        self._since, self._until = sample.since, sample.until
        self._columns = [field.name for field in source.fields]

    def scan_events(self, where: Filter) -> int:
        """Scans all events and returns the number of those that satisfy ``where``."""
        return self._scan_since(self._since, where)

    def scan_newest(self, where: Filter) -> int:
        """Scans only the last seconds, to measure a scan that reads next to nothing. Returns the number of events."""
        return self._scan_since(self._until - NEWEST_MICROS, where)

    def read_index(self, condition: Compare) -> pa.Array:
        """Returns the index hits of a condition."""
        (hits,) = self._layout.find_hits(self._store.snapshot(), self._source, [condition], self._since, self._until)
        return hits

    def fetch_events(self, hits: pa.Array, where: Filter) -> int:
        """Fetches the events of index hits and returns the number of those that satisfy ``where``."""
        wanted = ReadRequest(self._since, self._until, where, self._columns, FIRST_ROWS)
        return sum(map(len, self._layout.fetch_events(self._store.snapshot(), self._source, hits, wanted)))

    def _scan_since(self, since: int, where: Filter) -> int:
        wanted = ReadRequest(since, self._until, where, self._columns, FIRST_ROWS)
        return sum(map(len, self._layout.scan_events(self._store.snapshot(), self._source, wanted)))


def _measure_medians(calls: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Returns the median seconds of each call. The calls take turns, so that a busy moment slows all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(-WARM_UP_ROUNDS, ROUNDS):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            if number >= 0:
                seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(samples) for name, samples in seconds.items()}
