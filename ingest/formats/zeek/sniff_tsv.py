"""Recognises a Zeek log in TSV by its header, which tells how the file is to be read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from watchfloor.ingest.files.line_search import find_line_ends
from watchfloor.ingest.parsing.format import SniffResult, is_of_family
from watchfloor.ingest.parsing.sample import PEEK_BYTES, FileSample
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .zeek_fields import FAMILY
from .zeek_header import ZeekHeader, parse_header
from .zeek_tsv import header_source

_FIELDS = b"#fields"


def has_header(sample: FileSample) -> bool:
    """Returns true if the file begins as Zeek's TSV logs do."""
    return bool(sample.lines) and sample.lines[0].startswith((b"#separator", b"#fields"))


def describe_tsv(sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
    """Returns how the log is to be read. Raises ``InputFileError`` if its header is bad or does not fit the feed."""
    header_lines = _read_header_lines(sample)
    header = parse_header(header_lines)
    named = feed if feed is not None and feed not in (FAMILY, header.source_name) else None
    typed = sources.get(named) if named is not None else builtin_definitions().get(header.source_name)
    problem = header.find_problem(typed)
    if problem:
        raise InputFileError(
            f"{show_path(sample.path)}: a Zeek log whose header cannot be used: {problem}; mend the header"
        )
    base = sources.get(header.source_name)
    if named is not None:
        base = sources.get(named)
        if base is None or is_of_family(named, FAMILY) or base.parser["format"] != "zeek":
            raise InputFileError(
                f"{show_path(sample.path)}: a Zeek {header.path} log, not {feed}; "
                f"name {header.source_name} or no source"
            )
    derived = header_source(header, base)
    return SniffResult(derived.name, header_lines, (derived,), _has_one_header(sample, header))


def _read_header_lines(sample: FileSample) -> bytes:
    lines = []
    for line in sample.read_lines():
        if not line.startswith(b"#"):
            break
        lines.append(line)
    return b"\n".join(line for line in lines if not line.startswith(b"#close")) + b"\n"


def _has_one_header(sample: FileSample, header: ZeekHeader) -> bool:
    """Returns true if all headers in a plain file agree with the first, so that lines can be read from any place."""
    if sample.compressed:
        return False
    has_time = header.time_column() is not None
    for place in find_line_ends(sample.file.fileno(), _FIELDS):
        first = max(place - PEEK_BYTES, 0)
        around = os.pread(sample.file.fileno(), place - first + PEEK_BYTES, first)
        begin = around.rfind(b"\n#separator", 0, place - first + 1)
        if begin < 0 < first:
            return False
        end = around.find(b"\n", around.find(b"\n", place - first + 1) + 1)
        later = parse_header(around[max(begin, 0) : end if end >= 0 else len(around)].strip(b"\n"))
        # The time at which the log was opened matters only where it is the time of the lines.
        if later != header and (not has_time or later != replace(header, opened=later.opened)):
            return False
    return True
