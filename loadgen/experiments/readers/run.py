"""``bench readers``: the speed of readers of JSON lines into typed columns, and their treatment of wrong lines.

events ─▶ chunks ─▶ each reader, one thread, turn by turn ─▶ figures
a few right lines with an odd one among them ─▶ each reader ─▶ figures
"""

from __future__ import annotations

import importlib.util
import io
import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.json

from watchfloor.ingest.files.lines import Chunk, read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.field import ARROW_TYPES, FieldType
from watchfloor.schema.source import Source

SPEED = Metric(
    "read_megabytes_per_cpu_second",
    "MB/s",
    "bytes of JSON / 1,000,000 / CPU seconds of the process",
    title="JSON read in a second of a processor",
)
TAKEN = Metric(
    "odd_lines_taken",
    "",
    "lines that are not right and became events without a word; the note names them",
    better="lower",
    exact=True,
    title="wrong lines that became events",
)
KEPT = Metric(
    "right_lines_kept",
    "%",
    "right lines in one chunk with an odd line that became events / all of them, over the odd",
    better="higher",
    exact=True,
    title="right lines kept beside a wrong one",
)
_RIGHT = 2
"""The number of right lines before an odd one, and after it."""

ODD = {
    "unknown field": b'"zzz":1',
    "number as text": b'"status":"200"',
    "text as number": b'"user":7',
    "fraction for a whole number": b'"bytes_in":1.5',
    "number out of range": b'"src_port":70000',
    "a key twice": b'"user":"a","user":"b"',
    "a leading zero": b'"status":0200',
    "NaN": b'"duration_ms":NaN',
    "half a surrogate": b'"user":"\\ud800"',
    "a raw control character": b'"user":"a\x01b"',
    "a second object": b'"user":"a"} {"ts":"2026-01-01T00:00:03Z"',
    "an end too soon": b'"user":"a',
}
"""Members of an object that has a time too; each is wrong by the definition of ``proxy.events`` or by JSON."""


@dataclass(frozen=True)
class ComparedReader:
    """A reader of JSON lines. ``read`` returns how many events a chunk has; it raises any error if it refuses it."""

    name: str
    read: Callable[[bytes], int]


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", 200_000, "proxy events")
    add_count(parser, "--repeats", 5, "samples of each speed")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    chunks = [chunk.data for chunk in read_chunks(file.path)]
    readers = list(_open_readers(session.create_source("proxy.events"), session.folder))
    speeds: dict[str, list[float]] = {reader.name: [] for reader in readers}
    for turn in range(-1, options.repeats):
        for reader in readers:
            started = time.process_time()
            events = sum(map(reader.read, chunks))
            if events != file.events:
                raise ValueError(f"{reader.name} has read {events} of {file.events} events")
            if turn >= 0:
                speeds[reader.name].append(file.bytes / 1e6 / (time.process_time() - started))
    figures = [Figure(SPEED, tuple(samples), {"reader": name}) for name, samples in speeds.items()]
    for reader in readers:
        figures += _read_odd_lines(reader)
    return figures


def _read_odd_lines(reader: ComparedReader) -> Iterator[Figure]:
    """Gives a reader each odd line among right lines, and yields the figures of its results."""
    right = b'{"ts":"2026-01-01T00:00:00Z","user":"someone","status":200}\n'
    taken, kept = [], []
    for name, members in ODD.items():
        odd = b'{"ts":"2026-01-01T00:00:01Z",' + members + b"}\n"
        try:
            events = reader.read(right * _RIGHT + odd + right * _RIGHT)
        except Exception:  # each library has its own
            events = 0
        if events > 2 * _RIGHT:
            taken.append(name)
        kept.append(min(1.0, events / (2 * _RIGHT)) * 100)
    labels = {"reader": reader.name, "lines": f"{len(ODD)} odd lines"}
    yield Figure(TAKEN, (float(len(taken)),), labels, note="; ".join(taken))
    yield Figure(KEPT, (sum(kept) / len(kept),), labels)


def _open_readers(source: Source, folder: Path) -> Iterator[ComparedReader]:
    """Yields the worker's own parser, and the readers of libraries that are installed."""
    parser = open_parser(source.name, b"", lambda name, derive: source)
    yield ComparedReader("watchfloor", lambda data: parser.parse(Chunk(0, data)).count)
    # Addresses and times are read as text: the libraries convert them differently, and only the worker checks them.
    plain = {FieldType.IP: pa.string(), FieldType.TIME: pa.string()}
    schema = pa.schema([(f.name, plain.get(f.type, ARROW_TYPES.get(f.type, f.arrow))) for f in source.fields])
    yield ComparedReader("pyarrow", lambda data: _read_with_arrow(schema, data))
    yield ComparedReader(
        "orjson", lambda data: len(pa.Table.from_pylist(list(map(orjson.loads, data.splitlines())), schema=schema))
    )
    for name, make in (("duckdb", _open_duckdb), ("polars", _open_polars)):
        if importlib.util.find_spec(name) is None:
            print_progress(f"{name}: not installed: pip install 'watchfloor[bench]'")
        else:
            yield ComparedReader(name, make(schema, folder))


def _read_with_arrow(schema: pa.Schema, data: bytes) -> int:
    return pyarrow.json.read_json(
        pa.BufferReader(data),
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
    ).num_rows


_DUCKDB = {pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.uint16(): "USMALLINT", pa.float64(): "DOUBLE"}


def _open_duckdb(schema: pa.Schema, folder: Path) -> Callable[[bytes], int]:
    """Returns a function that reads a chunk with DuckDB and returns the number of events."""
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    columns = ", ".join(f"'{field.name}': '{_DUCKDB.get(field.type, 'BOOLEAN')}'" for field in schema)
    path = folder / "chunk.json"  # DuckDB reads JSON only from files

    def read(data: bytes) -> int:
        path.write_bytes(data)
        sql = f"SELECT * FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}})"
        return len(connection.sql(sql, params=[str(path)]).to_arrow_table())

    return read


def _open_polars(schema: pa.Schema, folder: Path) -> Callable[[bytes], int]:
    """Returns a function that reads a chunk with polars and returns the number of events."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # polars reads this when it is imported
    import polars

    # polars panics when it is to read 16-bit numbers.
    types = {
        name: polars.Int64 if kind == polars.UInt16 else kind
        for name, kind in polars.DataFrame(schema.empty_table()).schema.items()
    }

    def read(data: bytes) -> int:
        try:
            return len(polars.read_ndjson(io.BytesIO(data), schema=types).to_arrow())
        except polars.exceptions.PanicException as error:  # not an Exception
            raise ValueError(str(error)) from None

    return read


EXPERIMENT = Experiment(
    name="readers",
    summary="readers of JSON lines: megabytes a processor second, and what they make of lines that are not right",
    metrics=(SPEED, TAKEN, KEPT),
    quick_options=("--events", "50000", "--repeats", "1"),
    quick_seconds=7,
    add_options=add_options,
    run=run,
)
