"""``bench encodings``: a block's columns as our vectors or in Arrow's own format, by codec and by events per block.

events ─▶ encoded and decoded here, column by column ─▶ figures
       ─▶ blocks of each size and codec in a source of its own ─▶ questions, turn by turn ─▶ figures
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.loadgen.engines.question import list_questions
from watchfloor.loadgen.engines.rounds import Participant, run_rounds
from watchfloor.loadgen.engines.watchfloor_engine import WatchfloorEngine
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import EventFile, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.field import Field
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import compact_tables, source_tables
from watchfloor.store.bulk.tablet_files import read_table_files
from watchfloor.store.layouts.block.block_encoder import BlockEncoder
from watchfloor.store.layouts.block.blocks.block_writes import SLAB_BLOCKS
from watchfloor.store.layouts.block.vectors.column import make_column
from watchfloor.store.layouts.block.vectors.vector import CODEC, Compression, decode_vector
from watchfloor.store.layouts.block.vectors.vector_header import Codec
from watchfloor.store.layouts.item_writer import ItemWriter
from watchfloor.store.store import Store

SIZE = Metric(
    "encoded_share",
    "%",
    "bytes of all columns of the events, encoded / bytes of the JSON file",
    better="lower",
    exact=True,
    title="size of the encoded columns, share of the file",
)
ENCODE = Metric(
    "encode_events_per_second",
    "events/s",
    "events / seconds of one thread that encodes all their columns",
    title="speed of encoding",
)
DECODE = Metric(
    "decode_events_per_second",
    "events/s",
    "events / seconds of one thread that decodes all their columns",
    title="speed of decoding",
)
DISK = Metric(
    "disk_share",
    "%",
    "bytes of the files of the three tables, compacted / bytes of the JSON file",
    better="lower",
    exact=True,
    title="size on the disk, share of the file",
)
ENTRIES = Metric(
    "entries_per_event",
    "",
    "entries in the files of the three tables, compacted / events",
    better="lower",
    exact=True,
    title="entries for each event",
)
ANSWER = Metric(
    "answer_ms",
    "ms",
    "from the question to all of its rows, as Arrow, in the caller's hands",
    title="time of a whole answer",
)

ARROW_CODECS: tuple[Codec, ...] = ("none", "lz4_raw", "zstd")
CODECS: tuple[Compression, ...] = (*ARROW_CODECS, "packed")
SIZES = (1024, 4096, 8192, 16384, 65536)
_USUAL = 16384
_REPEATED = 0.5
"""The share of distinct values below which a column goes into Arrow's format as a dictionary."""


@dataclass(frozen=True)
class BlockEncoding:
    """A way to store columns as bytes, ``rows`` events at a time."""

    format: Literal["vector", "arrow"]
    codec: Compression
    rows: int

    @property
    def labels(self) -> dict[str, str]:
        return {"format": self.format, "codec": self.codec, "events a block": f"{self.rows:,}"}


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", 500_000, "proxy events")
    add_count(parser, "--repeats", 5, "samples of each figure")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    model = session.create_source("proxy.events")
    events = pa.concat_batches(list(_parse_file(file, model)))
    columns = [(field, events.column(field.name)) for field in model.fields]
    encodings = [BlockEncoding("vector", codec, _USUAL) for codec in CODECS]
    encodings += [BlockEncoding("arrow", codec, _USUAL) for codec in ARROW_CODECS]
    encodings += [BlockEncoding("vector", CODEC, rows) for rows in SIZES if rows != _USUAL]
    figures = []
    for encoding in encodings:
        print_progress(f"encoding: {', '.join(encoding.labels.values())}")
        figures += _measure_in_memory(encoding, columns, file.bytes, options.repeats)
    return figures + _measure_stored(session, file, [e for e in encodings if e.format == "vector"], options.repeats)


def _parse_file(file: EventFile, source: Source) -> Iterator[pa.RecordBatch]:
    parser = open_parser(source.name, b"", lambda name, derive: source)
    for chunk in read_chunks(file.path):
        for _, events in parser.parse(chunk).events:
            yield events


def _measure_in_memory(
    encoding: BlockEncoding, columns: Sequence[tuple[Field, pa.Array]], file_bytes: int, repeats: int
) -> list[Figure]:
    """Encodes and decodes all columns in this thread, and returns the figures of size and speed."""
    encode, decode = (
        _make_vector_codec(encoding.codec) if encoding.format == "vector" else _make_arrow_codec(encoding.codec)
    )
    events = len(columns[0][1])
    slab = SLAB_BLOCKS * encoding.rows
    slabs = [(f, c.slice(at, slab)) for f, c in columns for at in range(0, events, slab)]
    encoding_seconds, decoding_seconds = [], []
    for _ in range(repeats):
        started = time.thread_time()
        stored = [(field, column) for field, values in slabs for column in encode(field, values, encoding.rows)]
        encoding_seconds.append(time.thread_time() - started)
        started = time.thread_time()
        for field, column in stored:
            decode(field, column)
        decoding_seconds.append(time.thread_time() - started)
    size = sum(len(column) for _, column in stored)
    return [
        Figure(SIZE, (size / file_bytes * 100,), encoding.labels),
        Figure(ENCODE, tuple(events / seconds for seconds in encoding_seconds), encoding.labels),
        Figure(DECODE, tuple(events / seconds for seconds in decoding_seconds), encoding.labels),
    ]


Encode = Callable[[Field, pa.Array, int], Iterable[bytes]]
"""Encodes a slab of a field's values, so many at a time."""
Decode = Callable[[Field, bytes], object]


def _make_vector_codec(codec: Compression) -> tuple[Encode, Decode]:
    def encode(field: Field, values: pa.Array, rows: int) -> Iterator[bytes]:
        column, places = make_column(field, values, codec), np.arange(len(values))
        for at in range(0, len(values), rows):
            yield column.encode_events(places[at : at + rows]) or b""

    return encode, _decode_vector


def _decode_vector(field: Field, column: bytes) -> object:
    return decode_vector(field, column) if column else None


def _make_arrow_codec(codec: Compression) -> tuple[Encode, Decode]:
    """Returns functions for Arrow's stream of one column: schema, dictionary, one batch."""
    options = pa.ipc.IpcWriteOptions(compression=None if codec == "none" else codec.removesuffix("_raw"))

    def encode_part(field: Field, values: pa.Array) -> bytes:
        if pa.types.is_string(values.type):
            dictionary = values.dictionary_encode()
            values = dictionary if len(dictionary.dictionary) < _REPEATED * len(values) else values
        batch = pa.RecordBatch.from_arrays([values], names=[field.name])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue())

    def encode(field: Field, values: pa.Array, rows: int) -> Iterator[bytes]:
        return (encode_part(field, values.slice(at, rows)) for at in range(0, len(values), rows))

    return encode, lambda field, column: pa.ipc.open_stream(column).read_next_batch()


def _measure_stored(
    session: BenchSession, file: EventFile, encodings: Sequence[BlockEncoding], repeats: int
) -> list[Figure]:
    """Writes each encoding into a source of its own, and returns the figures of disk and answers."""
    sources = {encoding: _load_source(session, file, encoding) for encoding in encodings}
    compact_tables(session.store.connection, [table for source in sources.values() for table in source_tables(source)])
    figures = []
    for encoding, source in sources.items():
        files = read_table_files(session.store, source).values()
        figures.append(Figure(DISK, (sum(f.bytes for f in files) / file.bytes * 100,), encoding.labels))
        figures.append(Figure(ENTRIES, (sum(f.entries for f in files) / file.events,), encoding.labels))
    await_rest(session.settings)
    with Store.open(session.settings, role="query") as store:
        figures += _time_answers(store, file, sources, repeats)
    return figures


def _load_source(session: BenchSession, file: EventFile, encoding: BlockEncoding) -> Source:
    """Writes the events in one encoding into a new source."""
    print_progress(f"blocks in the store: {', '.join(encoding.labels.values())}")
    source = session.create_source("proxy.events")
    item = session.make_item(file.path, source)
    encoder = BlockEncoder(source, item.file_id, item.item_id, encoding.rows, encoding.codec)
    with session.store.sink() as sink:
        writer = ItemWriter(sink, item.item_id, item.file_id)
        for events in _parse_file(file, source):
            writer.put_writes(encoder.encode(events))
        writer.put_writes(encoder.finish())
        sink.flush()
    return source


def _time_answers(
    store: Store, file: EventFile, sources: Mapping[BlockEncoding, Source], repeats: int
) -> Iterator[Figure]:
    """Yields the times of answers to the usual questions, for each encoding."""
    questions = list_questions(file.generated)
    names = {f"{n}": encoding for n, encoding in enumerate(sources)}
    participants = [
        Participant(name, file.events, WatchfloorEngine(store, sources[encoding].name).ask_question, questions, repeats)
        for name, encoding in names.items()
    ]
    for (name, _, question), answers in run_rounds(participants, repeats).items():
        labels = {**names[name].labels, "question": question}
        yield Figure(ANSWER, tuple(seconds * 1000 for seconds in answers.seconds), labels)


EXPERIMENT = Experiment(
    name="encodings",
    summary="how blocks are encoded: our vectors beside Arrow's format, codecs, events a block",
    metrics=(SIZE, ENCODE, DECODE, DISK, ENTRIES, ANSWER),
    quick_options=("--events", "20000", "--repeats", "1"),
    quick_seconds=30,
    add_options=add_options,
    run=run,
    heap="512m",
    tserver_heap="3g",
)
