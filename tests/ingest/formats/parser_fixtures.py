"""The fixtures of each parser, and a parser of bytes."""

from __future__ import annotations

from pathlib import Path

from parsing_support import MemoryCatalog, ParsedFile, parse_chunks

from watchfloor.ingest.files.lines import Chunk
from watchfloor.schema.source import Source

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sources"
NAMES = sorted(path.name for path in FIXTURES.iterdir())


def parse(feed: str, data: bytes, header: bytes = b"", sources: tuple[Source, ...] = ()) -> ParsedFile:
    return parse_chunks([Chunk(0, data)], feed, header, MemoryCatalog(sources))
