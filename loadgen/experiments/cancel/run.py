"""``bench cancel``: the time until a cancelled query has left the servers, while its rows come and while none do."""

from __future__ import annotations

import threading
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing

from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import LoadCase, load_file, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StackError
from watchfloor.store.admin.scan_sessions import list_scan_sessions
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.store import Store

WARM_UP = 3
PATIENCE = 30.0
GOALS_FROM = 1_000_000
"""The number of events from which on the goals apply."""
"""The seconds after which a session counts as one that never ends."""
UNMATCHED_FILTER = " or ".join(f"path ~ /[{letter}]\\d[^\\w].*[,;]{letter}/" for letter in "abcdefghijkl")
"""A filter that no event matches, and that keeps the servers busy long enough to be cancelled meanwhile."""

FREE = Metric(
    "caller_free_ms",
    "ms",
    "from the call of close to the end of the iteration over the query, in whichever thread it is",
    title="time until the caller is free",
)
STOPPED = Metric(
    "reading_ends_ms", "ms", "from the call of close until no tablet server reads for the query: the sessions that are "
    "left were closed, and wait to be tidied away", title="time until no server reads",
)  # fmt: skip
GONE = Metric(
    "sessions_gone_ms",
    "ms",
    "from the call of close until no tablet server knows of a session of the query",
    title="time until all sessions are gone",
)
SLOWEST = Metric(
    "slowest_ms",
    "ms",
    "the largest sample of sessions_gone_ms",
    "max",
    title="longest time until all sessions are gone",
)
METRICS = (FREE, STOPPED, GONE, SLOWEST)


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", GOALS_FROM, "proxy events")
    add_count(parser, "--repeats", 20, "samples of each case")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    source = session.create_source(file.feed)
    load_file(session, source, file, LoadCase("block", file="whole", workers=1))
    await_rest(session.settings)
    samples: dict[tuple[str, str], list[float]] = defaultdict(list)
    with Store.open(session.settings, role="query") as store:
        service, tables = QueryService(store), source_tables(source)

        def has_sessions(reading: bool) -> bool:
            open_sessions = list_scan_sessions(session.store.connection, tables)
            return any(not scan.is_closed for scan in open_sessions) if reading else bool(open_sessions)

        dense = QueryRequest(source.name, where=f'domain = "{file.generated.popular.value}"', scheme="scan")
        silent = QueryRequest(source.name, where=UNMATCHED_FILTER)
        half = min(_time_query(service, silent) for _ in range(WARM_UP)) / 2
        print_progress(f"to find that nothing matches takes {2000 * half:.0f} ms; it is cancelled after half of that")
        for turn in range(-min(WARM_UP, options.repeats), options.repeats):
            for case, measure in {
                "rows come": lambda: _cancel_while_rows_come(service, dense, has_sessions),
                "none match": lambda: _cancel_while_waiting(service, silent, half, has_sessions),
            }.items():
                for metric, millis in measure().items():
                    if turn >= 0:
                        samples[case, metric].append(millis)
            print_progress(f"turn {turn + 1} of {options.repeats}" if turn >= 0 else "warming up")
    return size_goals(_make_figures(samples), options.events, GOALS_FROM, "events")


def _time_query(service: QueryService, request: QueryRequest) -> float:
    """Returns the seconds of a query that finds nothing."""
    began = time.perf_counter()
    with closing(service.run(request)) as result:
        if any(len(batch) for batch in result):
            raise StackError(f"an event has {UNMATCHED_FILTER}")
    return time.perf_counter() - began


SessionCheck = Callable[[bool], bool]
"""Returns True if the query has scan sessions. The argument True counts only those that are being read for."""


def _cancel_while_rows_come(
    service: QueryService, request: QueryRequest, has_sessions: SessionCheck
) -> dict[str, float]:
    """Closes a query after its first batch, and returns the milliseconds of each metric."""
    result = service.run(request)
    batches = iter(result)
    next(batches)
    began = time.perf_counter()
    result.close()
    list(batches)
    return {FREE.name: (time.perf_counter() - began) * 1000, **_await_sessions_end(began, has_sessions)}


def _cancel_while_waiting(
    service: QueryService, request: QueryRequest, after: float, has_sessions: SessionCheck
) -> dict[str, float]:
    """Closes a query ``after`` seconds from its start while another thread waits for its rows.

    Returns the milliseconds of each metric.
    """
    result = service.run(request)
    ended: list[float] = []

    def wait() -> None:
        list(result)
        ended.append(time.perf_counter())

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(after)
    began = time.perf_counter()
    result.close()
    ends = _await_sessions_end(began, has_sessions)
    waiting.join(PATIENCE)
    if not ended:
        raise StackError(f"a query that was cancelled had not ended {PATIENCE:.0f} s later")
    return {FREE.name: max(0.0, ended[0] - began) * 1000, **ends}


def _await_sessions_end(began: float, has_sessions: SessionCheck) -> dict[str, float]:
    """Waits until the servers have no session. Returns the milliseconds since ``began`` of each metric.

    Raises ``StackError``.
    """
    times = {}
    for name, reading in ((STOPPED.name, True), (GONE.name, False)):
        while has_sessions(reading):
            if time.perf_counter() - began > PATIENCE:
                raise StackError(f"a tablet server still had a session {PATIENCE:.0f} s after its query was cancelled")
            time.sleep(0.002)
        times[name] = (time.perf_counter() - began) * 1000
    return times


def _make_figures(samples: dict[tuple[str, str], list[float]]) -> list[Figure]:
    figures = []
    for (case, name), millis in samples.items():
        metric = {metric.name: metric for metric in METRICS}[name]
        figures.append(Figure(metric, tuple(millis), {"query": case}))
        if metric is GONE:
            figures.append(Figure(SLOWEST, tuple(millis), {"query": case}, Goal(1000, at_most=True)))
    return figures


EXPERIMENT = Experiment(
    name="cancel",
    summary="cancelled queries: time until their caller is free, and until the tablet servers have no session of "
    "theirs",
    metrics=METRICS,
    quick_options=("--events", "100000", "--repeats", "3"),
    quick_seconds=11,
    add_options=add_options,
    run=run,
    heap="512m",
    tserver_heap="3g",
)
