"""Our own pipeline at a level of security: a load through queue and workers, and queries for three values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

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


def measure_pipeline(session: BenchSession, level: str, file: EventFile, turns: int) -> Iterator[Figure]:
    """Yields the speed of a load, and the times to the first and to the last row of each query.

    The queries A, B and C ask for a popular, a middling and a rare value, as those of the LLCySA paper. Each level has
    connections of its own, as those of another one's servers are refused.
    """
    with Store.open(session.settings) as store, Store.open(session.settings, role="query") as reader:
        of_level = BenchSession(session.settings, store, session.folder)
        source = of_level.create_source(file.feed)
        try:
            timing = load_file(of_level, source, file, LoadCase("block", "whole", _WORKERS))
            yield Figure(LOADED, (timing.events / timing.seconds,), {"level": level})
            print_progress(f"{level}: {timing.events / timing.seconds:,.0f} events/s")
            named = {"A": file.generated.popular, "B": file.generated.middling, "C": file.generated.rare}
            service = QueryService(reader)
            times: dict[tuple[str, str], list[float]] = defaultdict(list)
            for turn in range(-_WARM_UP, turns):
                for name, value in named.items():
                    timed = time_rows(service, QueryRequest(source.name, where=f'domain = "{value.value}"'))
                    for row in _SHOWN_ROWS if turn >= 0 else ():
                        times[name, row].append(timed.milliseconds[row])
            for (name, row), samples in times.items():
                yield Figure(ROW_TIME, tuple(samples), {"level": level, "query": name, "row": row})
        finally:
            of_level.drop_source(source)
