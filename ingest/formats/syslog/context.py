"""The facts that no line of a file tells: the time of its last change, its zone, and the sources of the programs.

It is found out once, before the file is queued, and goes with each work item as the file's header.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

import orjson

from watchfloor.schema.source import Source

FAMILY = "syslog"
OTHERS = "syslog.messages"
"""The source of the lines of programs that have none of their own."""


@dataclass(frozen=True)
class SyslogContext:
    """``changed`` is in µs since 1970 UTC. ``programs`` has the source of each pattern of a program's name."""

    changed: int
    zone: str
    programs: Mapping[str, str]

    @classmethod
    def make(cls, changed: int, zone: str, sources: Iterable[Source]) -> SyslogContext:
        """Returns the context of a file, with the programs of all sources whose format is syslog."""
        programs = {
            program: source.name
            for source in sources
            if source.parser["format"] == FAMILY
            for program in source.parser["programs"]
        }
        return cls(changed, zone, programs)

    @classmethod
    def read(cls, header: bytes) -> SyslogContext:
        """Returns the context that ``write`` has written."""
        return cls(**orjson.loads(header))

    def write(self) -> bytes:
        return orjson.dumps(asdict(self))

    def find_source(self, program: str | None) -> str:
        """Returns the name of the source of a program; None: the line names none."""
        if program is None:
            return OTHERS
        if (found := self.programs.get(program)) is not None:
            return found
        return next((name for pattern, name in self._wild if pattern.fullmatch(program)), OTHERS)

    @cached_property
    def _wild(self) -> list[tuple[re.Pattern[str], str]]:
        wild = [(program, name) for program, name in self.programs.items() if "*" in program and program != "*"]
        return [(re.compile(fnmatch.translate(program)), name) for program, name in wild]
