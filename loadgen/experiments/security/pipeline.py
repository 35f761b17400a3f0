"""Our own pipeline on the servers of a moment: a load through queue and workers, and queries for three values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from watchfloor.loadgen.harness.loads import EventFile, LoadCase, load_file
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.row_times import LAST, time_rows
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.store.store import Store

from .figures import LOADED, ROW_TIME

_WORKERS = 2
_WARM_UP = 3
_SHOWN_ROWS = ("1", LAST)


@dataclass(frozen=True)
class PipelineTimes:
    """The events that a load wrote a second, and the milliseconds to rows by query and by number of the row."""

    speed: float
    rows: Mapping[tuple[str, str], Sequence[float]]


def measure_pipeline(session: BenchSession, level: str, file: EventFile, turns: int) -> Iterator[Figure]:
    """Yields the speed of a load, and the times to the first and to the last row of each query."""
    times = time_pipeline(session, file, turns)
    print_progress(f"{level}: {times.speed:,.0f} events/s")
    yield Figure(LOADED, (times.speed,), {"level": level})
    for (name, row), samples in times.rows.items():
        yield Figure(ROW_TIME, tuple(samples), {"level": level, "query": name, "row": row})


def time_pipeline(session: BenchSession, file: EventFile, turns: int) -> PipelineTimes:
    """Loads a file into a new source and asks each query so many times; returns the times.

    The queries A, B and C ask for a popular, a middling and a rare value, as those of the LLCySA paper. The servers of
    ``session.settings`` may be others than when the session began, and refuse its connections: these are new ones.
    """
    with Store.open(session.settings) as store, Store.open(session.settings, role="query") as reader:
        own = BenchSession(session.settings, store, session.folder)
        source = own.create_source(file.feed)
        try:
            timing = load_file(own, source, file, LoadCase("block", "whole", _WORKERS))
            named = {"A": file.generated.popular, "B": file.generated.middling, "C": file.generated.rare}
            service = QueryService(reader)
            times: dict[tuple[str, str], list[float]] = defaultdict(list)
            for turn in range(-_WARM_UP, turns):
                for name, value in named.items():
                    timed = time_rows(service, QueryRequest(source.name, where=f'domain = "{value.value}"'))
                    for row in _SHOWN_ROWS if turn >= 0 else ():
                        times[name, row].append(timed.milliseconds[row])
            return PipelineTimes(timing.events / timing.seconds, times)
        finally:
            own.drop_source(source)
