"""Log files whose every line is a pure function of the seed, the source, the number of the file and that of the line.

So whoever has an event's identity can compute the whole event, without a parser and without keeping any.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source

from .truth import FileTruth

BEGINNING = datetime(2026, 1, 5, tzinfo=UTC)
DAYS = 3
HOSTS, USERS, ADDRESSES = 40, 150, 500
STATUSES = (200, 301, 404, 500)
_FILE_WINDOW = timedelta(hours=6)
_FIRST_BAD = 200
"""The lines before this one are right, because a file's first lines tell what it is."""
_BAD_SHARE = 100
"""One line of so many is bad."""
_WORDS = ("grüße", "accepted", "connection", "reset", "日本", "by", "peer", '"quoted"', "C:\\temp", "retry")


@dataclass(frozen=True)
class EventMaker:
    """Makes the lines of the files of one source."""

    seed: int
    layout: str

    @property
    def source_name(self) -> str:
        return f"chaos.{self.layout}"

    @property
    def id_field(self) -> str:
        """The field of an event's identity. Its name differs by source, which tells a file's source."""
        return f"{self.layout}_id"

    def make_source(self) -> Source:
        """Returns the definition of the source."""
        fields = [
            {"name": "ts", "type": "time"},
            {"name": self.id_field, "type": "string", "indexed": True},
            {"name": "host", "type": "string", "indexed": True},
            {"name": "user", "type": "string"},
            {"name": "status", "type": "int", "indexed": True},
            {"name": "address", "type": "ip", "indexed": True},
            {"name": "bytes", "type": "int"},
            {"name": "message", "type": "string"},
        ]
        return parse_definition(
            {
                "name": self.source_name,
                "parser": {"format": "json"},
                "timestamp": {"field": "ts", "format": "iso8601"},
                "shards": 4,
                "fields": fields,
                "layout": self.layout,
            }
        )

    def make_event(self, file: int, line: int) -> dict[str, Any] | None:
        """Returns the event of a line as its JSON value; None if the line is bad."""
        draw = self._draw_numbers(file, line)
        return None if self._is_bad(draw, line) else self._make_event(draw, file, line)

    def find_event(self, identity: str) -> dict[str, Any] | None:
        """Returns the event with an identity; None if no line of any file has it."""
        try:
            layout, file, line = identity.split("-")
            event = self.make_event(int(file), int(line))
        except ValueError:
            return None
        return event if event is not None and event[self.id_field] == identity and layout == self.layout else None

    def make_line(self, file: int, line: int) -> bytes:
        """Returns a line without its end."""
        draw = self._draw_numbers(file, line)
        text = json.dumps(self._make_event(draw, file, line), ensure_ascii=False)
        if self._is_bad(draw, line):
            text = text[: len(text) // 2] if draw[0] % 2 else text.replace('"status": ', '"status": "no number", "_": ')
        return text.encode()

    def write_file(self, path: Path, file: int, lines: int) -> FileTruth:
        """Writes a file and returns what it holds, for comparison."""
        times: list[str] = []
        hosts: list[int] = []
        users: list[int] = []
        bad: list[bytes] = []
        with path.open("wb") as out:
            for line in range(lines):
                text = self.make_line(file, line)
                out.write(text + b"\n")
                event = self.make_event(file, line)
                if event is None:
                    bad.append(text)
                    continue
                times.append(event["ts"])
                hosts.append(int(event["host"][4:]))
                users.append(int(event.get("user", "user-1")[4:]))
        micros = np.array([time.removesuffix("Z") for time in times], "datetime64[us]").astype(np.int64)
        return FileTruth(path, file, path.stat().st_size, micros, np.array(hosts), np.array(users), tuple(bad))

    def _draw_numbers(self, file: int, line: int) -> tuple[int, ...]:
        """Returns eight random numbers of 32 bits, the same ones each time."""
        name = f"{self.seed}/{self.layout}/{file}/{line}".encode()
        digest = hashlib.blake2b(name, digest_size=32).digest()
        return tuple(int.from_bytes(digest[at : at + 4], "big") for at in range(0, 32, 4))

    def _is_bad(self, draw: tuple[int, ...], line: int) -> bool:
        return line >= _FIRST_BAD and draw[7] % _BAD_SHARE == 0

    def _make_event(self, draw: tuple[int, ...], file: int, line: int) -> dict[str, Any]:
        offset = (file * 37 * 60 * 1_000_000) % (timedelta(days=DAYS) // timedelta(microseconds=1))
        window = _FILE_WINDOW // timedelta(microseconds=1)
        moment = BEGINNING + timedelta(microseconds=offset + draw[0] * window // (1 << 32))
        event = {
            "ts": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            self.id_field: f"{self.layout}-{file:05d}-{line:05d}",
            # The product of two draws is skewed: some hosts have most of the events.
            "host": f"host{HOSTS * draw[1] * draw[2] >> 64}",
            "user": f"user{draw[3] % USERS}",
            "status": STATUSES[draw[4] % len(STATUSES)],
            "address": f"10.1.{draw[5] % ADDRESSES // 250}.{draw[5] % ADDRESSES % 250}",
            "bytes": draw[6],
            "message": " ".join(_WORDS[(draw[7] >> shift) % len(_WORDS)] for shift in range(4, 4 + draw[6] % 20)),
        }
        if draw[3] % 16 == 0:
            del event["user"]
        return event
