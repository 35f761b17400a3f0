"""``bench export``: all events of a source over REST in each format: how complete, how fast, in what memory."""

from __future__ import annotations

import csv
import http.client
import json
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from watchfloor.loadgen.harness.background import RestAddress, run_rest_service
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import LoadCase, load_file, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.memory_usage import watch_memory
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import StackError

READ_BYTES = 1 << 20
ID = "_id"
GOALS_FROM = 1_000_000
"""The number of events from which on the goals apply."""

RATE = Metric(
    "export_megabytes_per_second",
    "MB/s",
    "bytes of the answer / 1,000,000 / seconds from sending the query to its end",
    title="speed of an export",
)
EVENTS = Metric(
    "export_events_per_second", "events/s", "events of the answer / the same seconds", title="speed of an export"
)
COMPLETE = Metric(
    "export_complete", "", "1 if each event came once: as many IDs as events, with the same checksum in each format",
    better="higher", exact=True, title="complete export (1 is yes)",
)  # fmt: skip
MEMORY = Metric(
    "export_memory_mb",
    "MB",
    "the most memory (RSS) of the service during an export",
    "max",
    title="most memory of the service",
)
GROWTH = Metric(
    "export_memory_ratio",
    "",
    "export_memory_mb / the same of ten exports in each format before, of a tenth of the events each",
    better="lower",
    title="memory of the service with ten times the events / before, ratio",
)
METRICS = (RATE, EVENTS, COMPLETE, MEMORY, GROWTH)


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", GOALS_FROM, "proxy events")
    add_count(parser, "--repeats", 3, "exports in each format")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    source = session.create_source(file.feed)
    load_file(session, source, file, LoadCase("block", file="whole", workers=1))
    samples: dict[tuple[Metric, str], list[float]] = defaultdict(list)
    sums = set()
    await_rest(session.settings)
    with run_rest_service(session.settings, session.folder / "service.log") as service:
        path = session.folder / "answer"
        with watch_memory(service.pid) as tenths:
            for form in 10 * tuple(FORMATS):
                _export(service, source.name, form, path, options.events // 10)
        for turn in range(options.repeats):
            for form, list_ids in FORMATS.items():
                with watch_memory(service.pid) as memory:
                    seconds = _export(service, source.name, form, path)
                ids = _sum_ids(list_ids(path))
                sums.add(ids)
                samples[RATE, form].append(path.stat().st_size / 1e6 / seconds)
                samples[EVENTS, form].append(ids[0] / seconds)
                samples[COMPLETE, form].append(float(ids[0] == options.events and len(sums) == 1))
                samples[MEMORY, form].append(max(memory))
                samples[GROWTH, form].append(max(memory) / max(tenths))
                path.unlink()
            print_progress(f"turn {turn + 1} of {options.repeats}")
    return size_goals(_make_figures(samples), options.events, GOALS_FROM, "events")


def _export(service: RestAddress, source: str, form: str, path: Path, limit: int | None = None) -> float:
    """Writes the events of a source, with their IDs, to a file as they come, and returns the seconds that it took."""
    connection = http.client.HTTPConnection(service.host, service.port, timeout=600)
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    body = json.dumps({"source": source, "ids": True, "limit": limit})
    started = time.perf_counter()
    connection.request("POST", f"/api/v1/query?format={form}", body, headers)
    answer = connection.getresponse()
    if answer.status != 200:
        raise StackError(f"the REST service answered {answer.status}: {answer.read()[:300]!r}")
    with path.open("wb") as out:
        while part := answer.read1(READ_BYTES):
            out.write(part)
    seconds = time.perf_counter() - started
    connection.close()
    return seconds


def _sum_ids(ids: Iterable[str]) -> tuple[int, int]:
    """Returns the number of IDs, and a checksum of them whatever their order is."""
    count = total = 0
    for one in ids:
        count += 1
        total += int.from_bytes(blake2b(one.encode(), digest_size=8).digest())
    return count, total


def _list_ndjson(path: Path) -> Iterator[str]:
    with path.open("rb") as lines:
        for line in lines:
            record: dict[str, Any] = orjson.loads(line)
            if ID in record:
                yield record[ID]


def _list_csv(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines)
        column = next(reader).index(ID)
        yield from (line[column] for line in reader if len(line) > 1)


def _list_arrow(path: Path) -> Iterator[str]:
    for batch in pa.ipc.open_stream(path):
        yield from batch.column(ID).to_pylist()


def _list_parquet(path: Path) -> Iterator[str]:
    for batch in pq.ParquetFile(path).iter_batches(columns=[ID]):
        yield from batch.column(0).to_pylist()


FORMATS: dict[str, Callable[[Path], Iterator[str]]] = {
    "ndjson": _list_ndjson,
    "csv": _list_csv,
    "arrow": _list_arrow,
    "parquet": _list_parquet,
}
"""The formats, and how the IDs of an answer are read."""


def _make_figures(samples: dict[tuple[Metric, str], list[float]]) -> Iterator[Figure]:
    goals = {COMPLETE: Goal(1, at_most=False), GROWTH: Goal(1.25, at_most=True)}
    for metric in METRICS:
        for form in FORMATS:
            yield Figure(metric, tuple(samples[metric, form]), {"format": form}, goals.get(metric))


EXPERIMENT = Experiment(
    name="export",
    summary="all events of a source over REST in each format: completeness, MB/s, memory of the service",
    metrics=METRICS,
    quick_options=("--events", "100000", "--repeats", "1"),
    quick_seconds=20,
    add_options=add_options,
    run=run,
)
