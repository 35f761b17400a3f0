"""Finds where the event's time stands in a JSON line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import orjson

from watchfloor.ingest.columns.scalars import time_parser
from watchfloor.ingest.mapping.field_rule import find_rule
from watchfloor.ingest.parsing.time_place import TimePlace, read_time_place
from watchfloor.schema.source import Source

from .json_columns import find_values

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonTimeFinder:
    """Finds the time by the field's key, or by the keys that a definition tells.

    The key may occur in several places of a line. The right value is the one whose replacement by null takes the field
    from the object.
    """

    def __init__(self, source: Source, paths: Sequence[str] = ()) -> None:
        """``paths`` are those of the time in a line; by default those that the source tells."""
        self._paths = paths or find_rule(source, source.time_field).origins
        self._parse = time_parser(source.time_format)
        names = {name for path in self._paths for name in _list_endings(path)}
        keys = b"|".join(re.escape(name).encode() for name in sorted(names))
        self._member = re.compile(rb'(?<!\\)"(?:' + keys + rb')"\s*:\s*(?:"([^"\\]*)"|(-?[0-9][0-9.eE+-]*))')

    def find_time(self, line: bytes) -> TimePlace | None:
        record = _decode_json(line)
        path = next((path for path in self._paths if _find_member(record, path) is not None), None)
        if path is None:
            return None
        for match in self._member.finditer(line):
            start, end = match.span(1 if match[1] is not None else 2)
            begin, stop = (start - 1, end + 1) if match[1] is not None else (start, end)
            without = _decode_json(line[:begin] + b"null" + line[stop:])
            if without is not None and _find_member(without, path) is None:
                return read_time_place(line, start, end, self._parse)
        return None


def _list_endings(path: str) -> list[str]:
    """Returns the keys that the last member of a path may have: all of the path, or what follows one of its dots."""
    parts = path.split(".")
    return [".".join(parts[at:]) for at in range(len(parts))]


def _decode_json(line: bytes) -> Any:
    try:
        return orjson.loads(line.removeprefix(_BYTE_ORDER_MARK))
    except orjson.JSONDecodeError:
        return None


def _find_member(value: Any, name: str) -> Any:
    """Returns the first value of a dotted name, whose key has dots or is nested; None if there is none."""
    return next(iter(find_values(value, name)), None)
