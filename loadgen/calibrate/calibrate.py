"""``watchfloor calibrate``: measures what reading costs on a store, for the planner (``watchfloor.planner.estimate``).

Generated events go into a source of its own in each layout, and the layout reads them in ways that differ in one thing
each. The figures are kept in the store, where every client finds them.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa

from watchfloor.ingest.worker.reading import read_item
from watchfloor.loadgen.generator.generate import Generated, generate
from watchfloor.loadgen.generator.planted_paths import PLANTED_PATTERN, SINGLE_PATH
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.planner.estimate import COSTS, Costs
from watchfloor.query.executor import FIRST_ROWS
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.tree import Compare, Filter, Matches
from watchfloor.schema.settings.settings import load_settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.layout import Wanted
from watchfloor.store.layouts.registry import layout_of
from watchfloor.store.store import Store

EVENTS = {"block": 2_000_000, "cell": 100_000}
"""By layout: enough for a scan of all to take some tenths of a second."""
LEAST_EVENTS = 10_000
TURNS, WARM_UP = 11, 20


def main(argv: Sequence[str]) -> int:
    args = _arguments(argv)
    settings = load_settings()
    with tempfile.TemporaryDirectory(prefix="watchfloor-calibrate-") as folder, Store.open(settings) as store:
        session = BenchSession(settings, store, Path(folder).resolve())
        try:
            for layout, events in EVENTS.items():
                print_progress(f"{layout}: loading {min(events, args.events or events):,} events")
                source, made = _load(session, layout, min(events, args.events or events))
                costs = measured(store, source, made)
                store.put_costs(layout, asdict(costs))
                print(
                    "\n".join(f"{layout:<6} {name:<13} {value:.3g}" for name, value in asdict(costs).items()),
                    flush=True,
                )
        finally:
            session.close()
    return 0


def measured(store: Store, source: Source, made: Generated) -> Costs:
    """What reading ``source`` costs, which holds what ``made`` tells of; medians, in seconds."""
    reading = _Reading(store, source, made)
    events, popular, middling = made.events, made.popular.events, made.middling.events
    one, some = reading.hits(made.rare.domain)[:1], reading.hits(made.middling.domain)
    entries = len(reading.hits(made.popular.domain))
    times = _medians(
        {
            "start": lambda: reading.newest(),
            "nothing": lambda: reading.scan(Compare("path", "=", SINGLE_PATH)),
            "pattern": lambda: reading.scan(Matches("path", PLANTED_PATTERN)),
            "middling": lambda: reading.scan(Compare("domain", "=", made.middling.domain)),
            "dense": lambda: reading.scan(Compare("domain", "=", made.popular.domain)),
            "one": lambda: reading.fetch(one, Compare("domain", "=", made.rare.domain)),
            "some": lambda: reading.fetch(some, Compare("domain", "=", made.middling.domain)),
            "entries": lambda: len(reading.hits(made.popular.domain)),
        }
    )
    default = COSTS[source.layout]
    places = len(some)
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
        # The entries of blocks are few, and read when the plan is made.
        entry=times["entries"] / max(1, entries) if default.place_events == 1 else 0.0,
        row=row,
    )


class _Reading:
    """Reads one source by its layout, as a query's executor does; each call has a snapshot of its own."""

    def __init__(self, store: Store, source: Source, made: Generated) -> None:
        self._store, self._source, self._layout = store, source, layout_of(source)
        self._since, self._until = to_micros(made.since), to_micros(made.until)
        self._columns = [field.name for field in source.fields]

    def scan(self, where: Filter) -> int:
        """All events that satisfy ``where``; how many."""
        return self._scanned(self._since, where)

    def newest(self) -> int:
        """The events of the last seconds: what a scan costs that has next to nothing to read."""
        return self._scanned(self._until - 10_000_000, Compare("path", "=", SINGLE_PATH))

    def _scanned(self, since: int, where: Filter) -> int:
        snapshot = self._store.snapshot()
        wanted = Wanted(since, self._until, where, self._columns, FIRST_ROWS)
        return sum(map(len, self._layout.scan(snapshot, self._source, wanted)))

    def hits(self, domain: str) -> pa.Array:
        """What the index has for a domain."""
        where = Compare("domain", "=", domain)
        (found,) = self._layout.hits(self._store.snapshot(), self._source, [where], self._since, self._until)
        return found

    def fetch(self, hits: pa.Array, where: Filter) -> int:
        """The events of hits; how many."""
        snapshot = self._store.snapshot()
        wanted = Wanted(self._since, self._until, where, self._columns, FIRST_ROWS)
        return sum(map(len, self._layout.fetch(snapshot, self._source, hits, wanted)))


def _medians(calls: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Seconds of each call, the calls in turns, so that a busy moment falls on all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(-WARM_UP, TURNS):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            if turn >= 0:
                seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(found) for name, found in seconds.items()}


def _load(session: BenchSession, layout: str, events: int) -> tuple[Source, Generated]:
    path = session.folder / f"{layout}.json"
    with path.open("wb") as out:
        made = generate(out, events, 1)
    source = session.create_source("proxy.events", layout=layout)
    with session.store.sink() as sink:
        read_item(session.store, sink, session.make_item(path, source), lambda done, count, quarantined: None)
    path.unlink()
    return source, made


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="watchfloor calibrate",
        description="Measures what reading costs on this store, and keeps it there for the planner; takes a minute.",
    )
    parser.add_argument("--events", metavar="N", type=int, help="no more generated events than so many")
    args = parser.parse_args(argv)
    if args.events is not None and args.events < LEAST_EVENTS:
        raise UserError(f"--events is {args.events}; at least {LEAST_EVENTS:,} are needed to tell costs apart")
    return args
