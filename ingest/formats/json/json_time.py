"""Finds where the event's time stands in a JSON line."""

from __future__ import annotations

import re
from typing import Any

import orjson

from watchfloor.ingest.columns.scalars import time_parser
from watchfloor.ingest.parsing.time_place import TimePlace, read_time_place
from watchfloor.schema.source import Source

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonTimeFinder:
    """Finds the time by the field's key.

    The key may occur in several places of a line. The right value is the one whose replacement by null takes the field
    from the object.
    """

    def __init__(self, source: Source) -> None:
        self._field, self._parse = source.time_field, time_parser(source.time_format)
        keys = b"|".join(re.escape(name).encode() for name in {self._field, self._field.rpartition(".")[2]})
        self._member = re.compile(rb'(?<!\\)"(?:' + keys + rb')"\s*:\s*(?:"([^"\\]*)"|(-?[0-9][0-9.eE+-]*))')

    def find_time(self, line: bytes) -> TimePlace | None:
        if _find_member(_decode_json(line), self._field) is None:
            return None
        for match in self._member.finditer(line):
            start, end = match.span(1 if match[1] is not None else 2)
            begin, stop = (start - 1, end + 1) if match[1] is not None else (start, end)
            without = _decode_json(line[:begin] + b"null" + line[stop:])
            if without is not None and _find_member(without, self._field) is None:
                return read_time_place(line, start, end, self._parse)
        return None


def _decode_json(line: bytes) -> Any:
    try:
        return orjson.loads(line.removeprefix(_BYTE_ORDER_MARK))
    except orjson.JSONDecodeError:
        return None


def _find_member(value: Any, name: str) -> Any:
    """Returns the value of a dotted name, whose key has dots or is nested; None if there is none."""
    if not isinstance(value, dict):
        return None
    if name in value:
        return value[name]
    head, dot, tail = name.partition(".")
    return _find_member(value.get(head), tail) if dot else None
