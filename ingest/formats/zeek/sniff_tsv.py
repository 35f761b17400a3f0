"""Recognises a Zeek log in TSV by its header, which tells how the file is to be read."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import replace

from watchfloor.ingest.parsing.format import SniffResult, is_of_family
from watchfloor.ingest.parsing.sample import PEEK_BYTES, FileSample
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .zeek_fields import FAMILY
from .zeek_header import ZeekHeader, parse_header
from .zeek_tsv import header_source


def has_header(sample: FileSample) -> bool:
    """Returns true if the file begins as Zeek's TSV logs do."""
    return bool(sample.lines) and sample.lines[0].startswith((b"#separator", b"#fields"))


def describe_tsv(sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
    """Returns how the log is to be read. Raises ``InputFileError`` if its header is bad or does not fit the feed."""
    header_lines = _read_header_lines(sample)
    header = parse_header(header_lines)
    problem = header.find_problem()
    if problem:
        raise InputFileError(
            f"{show_path(sample.path)}: a Zeek log whose header cannot be used: {problem}; mend the header"
        )
    base = sources.get(header.source_name)
    if feed is not None and feed not in (FAMILY, header.source_name):
        base = sources.get(feed)
        if base is None or is_of_family(feed, FAMILY) or base.parser["format"] != "zeek":
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
    with mmap.mmap(sample.file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        place = data.find(b"\n#fields")
        has_time = header.time_column() is not None
        while place >= 0:
            begin = max(data.rfind(b"\n#separator", 0, place + 1), 0)
            if begin and place - begin > PEEK_BYTES:
                return False
            end = data.find(b"\n", data.find(b"\n", place + 1) + 1)
            later = parse_header(data[begin : end if end >= 0 else len(data)].strip(b"\n"))
            # The time at which the log was opened matters only where it is the time of the lines.
            if later != header and (not has_time or later != replace(header, opened=later.opened)):
                return False
            place = data.find(b"\n#fields", place + 1)
    return True
