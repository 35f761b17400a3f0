"""An independent account of what a store must hold: files of drawn lines, definitions, and which line is an event.

It shares no code with parsers, layouts or the ledger. It knows the definition by which each part of a file was read
last, which is recorded as the reading begins.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source

START = 1_700_000_000
COLUMNS = ("ts", "host", "n", "text", "colour", "size", "extra")
Row = tuple[Any, ...]
"""The values of ``COLUMNS``; the time in microseconds since 1970 UTC."""

COLOUR: Mapping[str, Any] = {"name": "colour", "type": "int", "indexed": True, "ecs": "client.port"}
SIZE: Mapping[str, Any] = {"name": "size", "type": "int"}
TEXT: Mapping[str, Any] = {"name": "text", "type": "string", "indexed": True, "ecs": "user.name"}
INDEXED_SIZE: Mapping[str, Any] = {**SIZE, "indexed": True}
CHANGES = (COLOUR, SIZE, TEXT, INDEXED_SIZE)
"""The changes to a definition: a field is added, or one that may be there already is indexed."""


def make_definition(
    name: str, layout: str, unknown: str, changes: tuple[Mapping[str, Any], ...], required: tuple[str, ...] = ()
) -> Source:
    """Returns the definition of a source after some of ``CHANGES``. A misfit of ``required`` fields rejects a line."""
    rules = {"fields": {one: {"required": True} for one in required}} if required else {}
    fields: dict[str, Mapping[str, Any]] = {
        "ts": {"name": "ts", "type": "time"},
        "host": {"name": "host", "type": "string", "indexed": True, "ecs": "host.name"},
        "n": {"name": "n", "type": "int", "indexed": True},
        "text": {"name": "text", "type": "string"},
        "extra": {"name": "extra", "type": "string", "indexed": True},
    }
    for change in changes:
        fields[change["name"]] = {**fields.get(change["name"], {}), **change}
    return parse_definition(
        {
            "name": name,
            "parser": {"format": "json", **rules},
            "timestamp": {"field": "ts"},
            "unknown_fields": unknown,
            "fields": list(fields.values()),
            "layout": layout,
            "shards": 2,
        }
    )


def read_row(text: str, kind: Source) -> Row | None:
    """Returns the event that a line is by a definition; None if it does not fit."""
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if "ts" not in event:
        return None
    types: Mapping[str, type] = {"host": str, "n": int, "text": str, "colour": int, "size": int}
    known = [f.name for f in kind.fields if f.name in types]
    row: dict[str, Any] = {"ts": event["ts"] * 1_000_000}
    unknown = {name: value for name, value in event.items() if name != "ts" and name not in known}
    misfits: dict[str, Any] = {}
    for name in (name for name in known if name in event):
        (row if isinstance(event[name], types[name]) else misfits)[name] = event[name]
    if any(kind.parser.get("fields", {}).get(name, {}).get("required") for name in misfits):
        return None
    if unknown or misfits:
        if kind.unknown_fields == "quarantine":
            return None
        row["extra"] = json.dumps({**unknown, **misfits}, separators=(",", ":"))
    return tuple(row.get(name) for name in COLUMNS)


@dataclass
class Line:
    """A line of a file. ``row`` is the event that it is in the store; None if it is in quarantine.

    A retry has ``claimed`` the line: a reading then leaves it as it is. ``settled`` means that a later retry does not
    write it again; ``retried``, that it has left quarantine.
    """

    offset: int
    text: str
    row: Row | None = None
    claimed: bool = False
    settled: bool = False
    retried: bool = False


@dataclass
class LogFile:
    """A file that grows. ``parts`` are the lines that each load has queued, by the length of the file at that time."""

    path: Path
    compressed: bool
    text: str = ""
    parts: dict[int, list[Line]] = field(default_factory=dict)

    def append(self, text: str) -> None:
        self.text += text
        data = self.text.encode()
        self.path.write_bytes(gzip.compress(data, 1) if self.compressed else data)

    @property
    def lines(self) -> list[Line]:
        return [line for part in self.parts.values() for line in part]

    def queue(self) -> list[Line]:
        """Returns the lines that a load queues now. A line that had no end when it was queued is queued again."""
        queued = max(self.parts, default=0)
        if queued == len(self.text):
            return []
        start = self.text.rfind("\n", 0, queued) + 1
        lines = []
        for text in self.text[start:].splitlines(keepends=True):
            lines.append(Line(start, text.removesuffix("\n")))
            start += len(text)
        self.parts[len(self.text)] = lines
        return lines

    def find_lines(self, length: int, start: int, end: int) -> list[Line]:
        """Returns the lines of a work item: a range of what was queued when the file was so long."""
        return [line for line in self.parts[length] if start <= line.offset < end]


def read_lines(lines: Iterable[Line], kind: Source) -> None:
    """Accounts for a reading of lines: those that a retry has claimed stay as they are."""
    for line in lines:
        if not line.claimed:
            line.row = read_row(line.text, kind)


def retry_lines(lines: Iterable[Line], kind: Source) -> None:
    """Accounts for a whole retry of lines."""
    for line in lines:
        if line.row is None or (line.claimed and not line.settled):
            line.row = read_row(line.text, kind)
            line.claimed = line.row is not None
        line.retried = line.settled = line.claimed


def break_retry(lines: Iterable[Line], kind: Source, step: str) -> None:
    """Accounts for a retry of one item that breaks off after ``step``: claimed, written or half_marked."""
    fitting = [line for line in lines if line.row is None and read_row(line.text, kind) is not None]
    for number, line in enumerate(fitting):
        line.claimed = True
        if step != "claimed":
            line.row = read_row(line.text, kind)
        if step == "half_marked":
            line.settled, line.retried = True, number < len(fitting) // 2


def is_open(line: Line) -> bool:
    """Returns whether a line's row in quarantine is open: it is no event, or a retry has not marked it yet."""
    return not line.retried and (line.row is None or line.claimed)
