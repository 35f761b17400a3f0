"""``bench rest-load``: the REST service under many clients, some of which are slow, and other HTTP servers beside it.

Each server answers with the same application, in a process of its own:
idle ─▶ first rows, chunks of a stream, a client that leaves
half-open connections + readers that stall + clients that ask ─▶ answers, health checks ─▶ SIGTERM in a stream
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import LoadCase, load_file, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, GoalSize, Metric
from watchfloor.loadgen.harness.memory_usage import watch_memory
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import StackError

from . import probe
from .clients import HOST, ask_often, ask_query, half_open, health_checks, stalled_readers
from .servers import MODULE, SERVERS, list_installed

START_SECONDS = 60.0
_SHOWN_LINES = 40
GOALS_FROM = 200_000
"""The number of events from which on the goals apply."""
FIRST = Metric(
    "first_row_ms",
    "ms",
    "from sending a query to the first line of its answer; nothing else is asked",
    title="time to the first line, nothing else asked",
)
FLUSH = Metric(
    "chunk_ms",
    "ms",
    "from handing a chunk of a stream to the server until its client has it",
    "max",
    title="longest time from server to client of a chunk",
)
GONE = Metric(
    "gone_ms",
    "ms",
    f"from a client's leaving a silent stream until the stream ends; {probe.SILENT_SECONDS:g} s: never",
    title="time until a stream that was left ends",
)
QUERY = Metric(
    "query_ms",
    "ms",
    "under the load: from sending a query to its summary, over those answered",
    title="time of a query under load",
)
QUERY_99 = Metric(
    "query_p99_ms", "ms", QUERY.definition, "99th percentile", title="time of a query under load, 99th percentile"
)
LOADED = Metric(
    "loaded_first_row_ms",
    "ms",
    "under the load: from sending a query to the first line of its answer",
    title="time to the first line under load",
)
LOADED_99 = Metric(
    "loaded_first_row_p99_ms",
    "ms",
    LOADED.definition,
    "99th percentile",
    title="time to the first line under load, 99th percentile",
)
FAILED = Metric(
    "failed",
    "",
    "queries of the load that were refused, cut off or not answered",
    better="lower",
    title="failed queries",
)
HEALTH = Metric(
    "health_p99_ms",
    "ms",
    "under the load: from sending a health check to its answer",
    "99th percentile",
    title="time of a health check under load, 99th percentile",
)
HEALTH_FAILED = Metric(
    "health_failed", "", "health checks under the load that failed", better="lower", title="failed health checks"
)
DELAY = Metric(
    "slow_clients_delay_ms",
    "ms",
    "beside the stalled readers and half-open connections alone: from sending a query to the first line of its answer, "
    "less the median of the same without them",
    title="delay of the first line by slow clients",
)
MEMORY = Metric(
    "memory_mb", "MB", "the most memory (RSS) of the server under the load", "max", title="most memory under load"
)
STOP = Metric(
    "stop_whole",
    "",
    "1 if an answer that was being sent at SIGTERM came to its end",
    better="higher",
    title="whole answer at a stop (1 is yes)",
)
METRICS = (FIRST, FLUSH, GONE, QUERY, QUERY_99, LOADED, LOADED_99, FAILED, HEALTH, HEALTH_FAILED, DELAY, MEMORY, STOP)


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", GOALS_FROM, "proxy events")
    add_count(parser, "--repeats", 30, "queries of first_row_ms")
    add_count(parser, "--clients", 50, "clients that ask at once")
    add_count(parser, "--stalled", 20, "clients that do not read their answers")
    add_count(parser, "--half-open", 500, "connections without a whole request")
    add_count(parser, "--load-seconds", 30, "seconds of the load")
    names = ", ".join(SERVERS)
    parser.add_argument("--servers", metavar="A,B", default="", help=f"of {names} (default: all that are installed)")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    source = session.create_source(file.feed)
    load_file(session, source, file, LoadCase("block", file="whole", workers=1))
    figures = []
    for name in options.servers.split(",") if options.servers else list_installed():
        await_rest(session.settings)
        with _start_server(session, name) as (process, port):
            print_progress(f"{name}: port {port}")
            labels = {"server": name}
            figures += _measure_idle(port, source.name, options.repeats, labels)
            with watch_memory(process.pid) as memory:
                figures += _measure_load(port, source.name, options, labels)
            figures.append(Figure(MEMORY, tuple(memory), labels))
            _show_errors(session.folder / f"{name}.log")
            figures.append(Figure(STOP, (_stop_within_stream(process, port),), labels))
    return figures


@contextmanager
def _start_server(session: BenchSession, name: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Starts a server and yields its process and port once it answers. Raises ``StackError`` if it does not."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "WATCHFLOOR_HOME": str(session.settings.home)}
    with (session.folder / f"{name}.log").open("wb") as log:
        command = [sys.executable, "-m", MODULE, name, str(port)]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _is_healthy(port):
                if time.monotonic() > deadline or process.poll() is not None:
                    raise StackError(f"{name} does not answer; see {log.name}")
                time.sleep(0.2)
            yield process, port
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def _show_errors(log: Path) -> None:
    """Prints the last lines that a server has logged: they tell why requests have failed."""
    for line in log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]:
        print_progress(f"  {line}")


def _is_healthy(port: int) -> bool:
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection(HOST, port, timeout=10)
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    return False


def _measure_idle(port: int, source: str, repeats: int, labels: Mapping[str, str]) -> list[Figure]:
    _time_firsts(port, source, 3)
    return [
        Figure(FIRST, _time_firsts(port, source, repeats), labels),
        Figure(FLUSH, _time_chunks(port), labels),
        Figure(GONE, (_time_leaving(port),), labels),
    ]


def _time_firsts(port: int, source: str, repeats: int) -> tuple[float, ...]:
    """Returns the milliseconds of ``first_row_ms``."""
    body = {"source": source, "limit": 100}
    return tuple(1000 * ask_query(port, body, "clients")[0] for _ in range(repeats))


def _time_chunks(port: int) -> tuple[float, ...]:
    """Returns the milliseconds of ``chunk_ms``."""
    response = _open_probe(port, probe.STREAM)
    return tuple(1000 * (time.time() - float(line)) for line in response)


def _time_leaving(port: int) -> float:
    """Returns the milliseconds of ``gone_ms``."""
    response = _open_probe(port, probe.SILENT)
    response.readline()
    left = time.time()
    response.close()
    ended, deadline = 0.0, time.monotonic() + probe.SILENT_SECONDS + 5
    while ended < left and time.monotonic() < deadline:
        time.sleep(0.05)
        ended = json.loads(_open_probe(port, probe.LAST_END).read())
    return 1000 * (max(ended, left) - left)


def _open_probe(port: int, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    connection.request("GET", path, headers={"Connection": "close"})
    return connection.getresponse()


def _measure_load(port: int, source: str, options: Namespace, labels: Mapping[str, str]) -> Iterator[Figure]:
    """Yields the figures of clients and health checks beside half-open connections and stalled readers."""
    all_events: dict[str, Any] = {"source": source}
    size = GoalSize(options.events, GOALS_FROM, "events")
    quiet = statistics.median(_time_firsts(port, source, options.repeats))
    with (
        half_open(port, options.half_open),
        stalled_readers(port, all_events, options.stalled),
        health_checks(port) as health,
    ):
        delays = tuple(millis - quiet for millis in _time_firsts(port, source, options.repeats))
        yield Figure(DELAY, delays, labels, Goal(100, True, size))
        answers = ask_often(port, {"source": source, "limit": 100}, options.clients, options.load_seconds)
    for millis, metrics in (
        (answers.millis, (QUERY, QUERY_99)),
        (answers.firsts, (LOADED, LOADED_99)),
        (health.millis, (HEALTH,)),
    ):
        # A server that has answered nothing gets the time-out as its only sample.
        samples = tuple(millis) or (60_000.0,)
        goal = Goal(100, True, size) if HEALTH in metrics else None
        yield from (Figure(metric, samples, labels, goal) for metric in metrics)
    for kind, metric in ((answers, FAILED), (health, HEALTH_FAILED)):
        note = ", ".join(sorted(set(kind.failures)))[:80]
        yield Figure(metric, (float(len(kind.failures)),), labels, Goal(0, at_most=True), note=note)


def _stop_within_stream(process: subprocess.Popen[bytes], port: int) -> float:
    """Returns 1 if a stream that is sent while the server gets SIGTERM comes whole, and 0 otherwise."""
    try:
        response = _open_probe(port, probe.STREAM)
        response.readline()
        process.send_signal(signal.SIGTERM)
        return float(len(response.read().splitlines()) == 19)
    except (OSError, http.client.HTTPException):
        return 0.0


EXPERIMENT = Experiment(
    name="rest-load",
    summary="the REST service under many clients, stalled readers and half-open connections, and other HTTP servers "
    "beside it",
    metrics=METRICS,
    quick_options=("--events", "20000", "--repeats", "5", "--load-seconds", "3", "--servers", "watchfloor"),
    quick_seconds=25,
    add_options=add_options,
    run=run,
)
