"""Where the event's time stands in a line of a log, for each format in which it can be replaced and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from watchfloor.ingest.columns.scalars import Unfit, time_parser
from watchfloor.ingest.formats.access_log.access_log import time_place
from watchfloor.ingest.formats.zeek.zeek_fields import field_name
from watchfloor.ingest.formats.zeek.zeek_header import parse_header
from watchfloor.ingest.intake.sniff import Sniffed
from watchfloor.schema.source import Source

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Place:
    """``line[start:end]`` is the text of a time; ``micros`` since 1970 UTC is what it says."""

    start: int
    end: int
    micros: int


class Finder(Protocol):
    """Told each line of a file in its order, without its line end, it says where the time is; None: nowhere."""

    def __call__(self, line: bytes, /) -> Place | None: ...


def finder(sniffed: Sniffed) -> tuple[Finder, str]:
    """What finds the times of a file, and the format that they are in, as definitions name it."""
    if not sniffed.sources:  # a file without lines
        return lambda line: None, "iso8601"
    # Where a file holds several sources, they have their time under one name and in one format.
    source = sniffed.sources[0]
    parse = time_parser(source.time_format)
    if sniffed.header:
        return _ZeekTsv(sniffed.header, source, parse), source.time_format
    if source.parser["format"] == "access_log":
        return _Access(parse), source.time_format
    return _Json(source.time_field, parse), source.time_format


def _place(line: bytes, start: int, end: int, parse: Callable[[str], int]) -> Place | None:
    try:
        return Place(start, end, parse(line[start:end].decode()))
    except (Unfit, UnicodeDecodeError):
        return None


class _Access:
    def __init__(self, parse: Callable[[str], int]) -> None:
        self._parse = parse

    def __call__(self, line: bytes) -> Place | None:
        found = time_place(line)
        return None if found is None else _place(line, *found, self._parse)


class _ZeekTsv:
    """Knows the column by the header lines that pass by."""

    def __init__(self, header: bytes, source: Source, parse: Callable[[str], int]) -> None:
        self._header = parse_header(header)
        self._source, self._parse = source, parse
        self._column = self._time_column()

    def __call__(self, line: bytes) -> Place | None:
        if line.startswith(b"#"):
            header = self._header.with_line(line)
            if header != self._header:
                self._header = header
                self._column = self._time_column()
            return None
        if self._column is None:
            return None
        cells = line.split(self._header.separator, self._column + 1)
        if len(cells) <= self._column:
            return None
        start = sum(map(len, cells[: self._column])) + self._column
        return _place(line, start, start + len(cells[self._column]), self._parse)

    def _time_column(self) -> int | None:
        names = [field_name(name.decode(errors="replace")) for name in self._header.names]
        return names.index(self._source.time_field) if self._source.time_field in names else None


class _Json:
    """Looks for the field's key, and takes the value without which the object would lack the field."""

    def __init__(self, field: str, parse: Callable[[str], int]) -> None:
        self._field, self._parse = field, parse
        keys = b"|".join(re.escape(name).encode() for name in {field, field.rpartition(".")[2]})
        self._member = re.compile(rb'(?<!\\)"(?:' + keys + rb')"\s*:\s*(?:"([^"\\]*)"|(-?[0-9][0-9.eE+-]*))')

    def __call__(self, line: bytes) -> Place | None:
        if _member(_decoded(line), self._field) is None:
            return None
        for match in self._member.finditer(line):
            start, end = match.span(1 if match[1] is not None else 2)
            begin, stop = (start - 1, end + 1) if match[1] is not None else (start, end)
            without = _decoded(line[:begin] + b"null" + line[stop:])
            if without is not None and _member(without, self._field) is None:
                return _place(line, start, end, self._parse)
        return None


def _decoded(line: bytes) -> Any:
    try:
        return orjson.loads(line.removeprefix(_MARK))
    except orjson.JSONDecodeError:
        return None


def _member(value: Any, name: str) -> Any:
    """The member of a dotted name, written with dots or nested; None if there is none."""
    if not isinstance(value, dict):
        return None
    if name in value:
        return value[name]
    head, dot, tail = name.partition(".")
    return _member(value.get(head), tail) if dot else None
