"""Measures what reading costs on a store, for the planner (``watchfloor.schema.read_costs.ReadCosts``).

A source that holds a sample of known events is read through its layout in several ways. Each differs from another in
one respect, and the difference of the two times is a cost.
"""

from __future__ import annotations

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

ROUNDS, WARM_UP_ROUNDS = 13, 6
FIRST_ROWS = 20
"""Rows of a first batch, the number for which a query asks."""
NEWEST_MICROS = 10_000_000
MOST_BELOW = 4
"""The difference of two times may come out as nothing by chance: no cost is less than this part of the stated one."""
SOME_PLACES = 200
"""The most places that are fetched at once."""


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


def measure_costs(
    store: Store, source: Source, sample: CalibrationSample, check: Callable[[], None] = lambda: None
) -> ReadCosts:
    """Returns the costs of reading ``source``, which holds the sample. They are in seconds, from least times.

    ``check`` is called between any two readings, and may raise to end all.
    """
    default, reader = find_layout(source).costs, _SampleReader(store, source, sample)
    is_cells = default.place_events == 1
    rare, middling, popular = (named.condition for named in (sample.rare, sample.middling, sample.popular))
    fetched = popular if is_cells else middling
    one_place, some_places = reader.read_index(rare)[:1], reader.read_index(fetched)[:SOME_PLACES]
    # A part of the range has rows enough.
    part = sample.until - (sample.until - sample.since) // (2 if is_cells else 8)
    times, counts = _measure_least(
        {
            "start": lambda: reader.scan_newest(sample.single),
            "nothing": lambda: reader.scan_events(sample.single),
            "pattern": lambda: reader.scan_events(sample.pattern),
            "middling": lambda: reader.scan_events(middling),
            "few": lambda: reader.scan_since(part, middling),
            "many": lambda: reader.scan_since(part, popular),
            "one": lambda: reader.fetch_events(one_place, rare),
            "some": lambda: reader.fetch_events(some_places, fetched),
            "rare entries": lambda: len(reader.read_index(rare)),
            "entries": lambda: len(reader.read_index(popular)),
        },
        check,
    )
    event = (times["nothing"] - times["start"]) / sample.events
    row = (times["many"] - times["few"]) / max(1, counts["many"] - counts["few"])
    # The two scans differ in places with matches. What a scan costs once if it has any matches is in neither cost.
    rows = counts["middling"] - counts["few"]
    more_events = sample.events * rows / max(1, counts["middling"])
    more_places = len(reader.read_index(middling)) - len(reader.read_index(middling, part))
    differences = {
        "event": event,
        "pattern": (times["pattern"] - times["nothing"]) / sample.events,
        "hit": (times["middling"] - times["few"] - more_events * event - rows * row) / max(1, more_places),
        "place": (times["some"] - times["one"] - (counts["some"] - counts["one"]) * row) / max(1, len(some_places) - 1),
        # Blocks have few index entries, and a query reads these when its plan is made.
        "entry": (times["entries"] - times["rare entries"]) / max(1, counts["entries"] - counts["rare entries"]),
        "row": row,
    }
    # What a layout states as nothing is nothing: it is so by its nature.
    least = {name: getattr(default, name) for name in differences}
    costs = {name: max(cost, least[name] / MOST_BELOW) if least[name] else 0.0 for name, cost in differences.items()}
    return replace(default, scan=times["start"], look_up=times["one"], **costs)


class _SampleReader:
    """Reads one source by its layout, as a query's executor does. Each call has a snapshot of its own."""

    def __init__(self, store: Store, source: Source, sample: CalibrationSample) -> None:
        self._store, self._source, self._layout = store, source, find_layout(source)
        self._since, self._until = sample.since, sample.until
        self._columns = [field.name for field in source.fields]

    def scan_events(self, where: Filter) -> int:
        """Scans all events and returns the number of those that satisfy ``where``."""
        return self.scan_since(self._since, where)

    def scan_newest(self, where: Filter) -> int:
        """Scans only the last seconds, to measure a scan that reads next to nothing. Returns the number of events."""
        return self.scan_since(self._until - NEWEST_MICROS, where)

    def read_index(self, condition: Compare, since: int | None = None) -> pa.Array:
        """Returns the index hits of a condition, from ``since`` on if that is given."""
        begin = self._since if since is None else since
        (hits,) = self._layout.find_hits(self._store.snapshot(), self._source, [condition], begin, self._until)
        return hits

    def fetch_events(self, hits: pa.Array, where: Filter) -> int:
        """Fetches the events of index hits and returns the number of those that satisfy ``where``."""
        wanted = ReadRequest(self._since, self._until, where, self._columns, FIRST_ROWS)
        return sum(map(len, self._layout.fetch_events(self._store.snapshot(), self._source, hits, wanted)))

    def scan_since(self, since: int, where: Filter) -> int:
        """Scans the events from ``since`` on and returns the number of those that satisfy ``where``."""
        wanted = ReadRequest(since, self._until, where, self._columns, FIRST_ROWS)
        return sum(map(len, self._layout.scan_events(self._store.snapshot(), self._source, wanted)))


def _measure_least(
    calls: dict[str, Callable[[], int]], check: Callable[[], None]
) -> tuple[dict[str, float], dict[str, int]]:
    """Returns the least seconds of each call, and what it returned.

    The calls take turns, so that a busy moment slows all of them. The least time is what a call takes if nothing else
    runs; the costs are small differences of such times, which medians do not tell on a machine that has other work.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    counts = {}
    for number in range(-WARM_UP_ROUNDS, ROUNDS):
        for name, call in calls.items():
            check()
            started = time.perf_counter()
            counts[name] = call()
            if number >= 0:
                seconds[name].append(time.perf_counter() - started)
    return {name: min(samples) for name, samples in seconds.items()}, counts
