"""Common parts of the tests of lines, parsers and sniffing."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from jvm_support import start_jvm

from watchfloor.ingest.files.lines import Chunk, RejectedLine, read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.schema.definition import add_fields
from watchfloor.schema.errors import UnknownSourceError
from watchfloor.schema.source import Source

CHECKOUT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("WATCHFLOOR_TEST_DATA") or CHECKOUT.parent / "shared" / "data")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shared_log(name: str) -> Path:
    """Returns the path of a shared log; skips the test if it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the shared logs are absent: {path}; set WATCHFLOOR_TEST_DATA to their folder")
    return path


def unzip_log(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(shared_log(name)) as archive:
        return Path(archive.extract(archive.namelist()[0], folder))


class MemoryCatalog:
    """A catalog in memory, which resolves sources as ingest does."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self.sources = {source.name: source for source in sources}

    def __call__(self, name: str, derive: Callable[[], Source]) -> Source:
        known = self.sources.get(name)
        try:
            wanted = derive()
        except UnknownSourceError:  # of a definition that only a catalog can know
            if known is None:
                raise
            return known
        self.sources[name] = add_fields(known, wanted.fields) if known else wanted
        return self.sources[name]


@dataclass
class ParsedFile:
    """The events and rejected lines of a file."""

    sniffed: SniffResult | None = None
    events: list[tuple[Source, pa.RecordBatch]] = field(default_factory=list)
    rejected: list[RejectedLine] = field(default_factory=list)
    lines: int = 0

    @property
    def count(self) -> int:
        return sum(batch.num_rows for _, batch in self.events)

    def rows(self) -> list[dict[str, Any]]:
        """Returns events in file order: source, offset and the fields that have a value.

        A field that is itself called ``source`` is ``(source)``.
        """
        out = []
        for source, batch in self.events:
            names = ["(source)" if name == "source" else name for name in batch.schema.names]
            columns = [_plain(column) for column in batch.columns]
            for values in zip(*columns, strict=True):
                row = {name: value for name, value in zip(names, values, strict=True) if value is not None}
                out.append({"source": source.name, **row})
        return sorted(out, key=lambda row: row["(offset)"])

    def faults(self) -> list[tuple[int, str]]:
        return [(r.offset, r.reason) for r in self.rejected]


def outcome(loaded: ParsedFile) -> list[dict[str, Any]]:
    """Returns events and rejected lines, as fixtures have them."""
    faults = [{"rejected": offset, "reason": reason} for offset, reason in sorted(loaded.faults())]
    return loaded.rows() + faults


def _plain(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_list(column.type) and pa.types.is_timestamp(column.type.value_type):
        return column.cast(pa.list_(pa.int64())).to_pylist()
    return column.to_pylist()


def parse_chunks(chunks: Iterable[Chunk], feed: str, header: bytes, resolve: ResolveSource) -> ParsedFile:
    start_jvm()
    parser = open_parser(feed, header, resolve)
    loaded = ParsedFile()
    for chunk in chunks:
        parsed = parser.parse(chunk)
        assert parsed.lines == parsed.count + len(parsed.rejected)
        for source, batch in parsed.events:
            check_batch(source, batch)
        loaded.events += parsed.events
        loaded.rejected += parsed.rejected
        loaded.lines += parsed.lines
    assert all(r.reason for r in loaded.rejected)
    return loaded


def check_batch(source: Source, batch: pa.RecordBatch) -> None:
    """Asserts that a batch is what the contract of events in memory says."""
    batch.validate(full=True)
    assert batch.schema == source.arrow_schema.append(pa.field("(offset)", pa.int64()))
    times = batch.column(source.time_field)
    assert times.null_count == 0
    micros = times.cast(pa.int64()).to_pylist()
    assert not micros or (min(micros) >= 0 and max(micros) < 9_214_646_400_000_000)


def parse_file(path: Path, feed: str | None = None, chunk_bytes: int = 4 << 20) -> ParsedFile:
    """Reads a file as ingest does: sniffed, its sources registered, parsed."""
    sniffed = sniff_file(path, feed, {})
    chunks = read_chunks(path, chunk_bytes=chunk_bytes)
    loaded = parse_chunks(chunks, sniffed.feed, sniffed.header, MemoryCatalog(sniffed.sources))
    loaded.sniffed = sniffed
    return loaded


def log_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Iterates over offset and bytes of each line that counts, read in the plainest way."""
    offset = 0
    data = b"".join(chunk.data for chunk in read_chunks(path))
    for line in data.split(b"\n"):
        if line.strip(b" \t\r"):
            yield offset, line.rstrip(b"\r")
        offset += len(line) + 1
