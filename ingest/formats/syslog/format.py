"""The format ``syslog``: a family whose sources are told by the programs that have written the lines."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from watchfloor.ingest.parsing.format import Format, Match, SniffResult
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.ingest.parsing.time_place import TimePlace
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .context import FAMILY, OTHERS, SyslogContext
from .header import split_lines
from .syslog import SyslogParser
from .times import read_times

_ZONE = "UTC"


class SyslogFormat:
    """Syslog, recognised by the headers of its lines."""

    name = "syslog"
    family = FAMILY
    title = "a syslog"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        if sample.is_json:
            return Match.NONE
        found, lines = split_lines(sample.lines), len(sample.lines)
        times, programs = (lines - found[name].null_count for name in ("time", "program"))
        # The header with a program is hard to mistake, so that a log with much else in between is known by it too.
        if 10 * programs > lines:
            return Match.CONTENT
        return Match.SHAPE if 2 * times > lines else Match.NONE

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        if sample.is_json:
            raise InputFileError(
                f"{show_path(sample.path)}: JSON lines, not {feed}; it begins {sample.beginning}; name another source"
            )
        context = SyslogContext.make(sample.changed, _ZONE, sources.values())
        programs = set(split_lines(sample.lines)["program"].drop_null().to_pylist())
        names = dict.fromkeys([*sorted(map(context.find_source, programs)), OTHERS])
        return SniffResult(FAMILY if feed is None else feed, context.write(), tuple(sources[name] for name in names))

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> SyslogParser:
        return SyslogParser(SyslogContext.read(header), resolve, source)

    def open_time_finder(self, header: bytes, source: Source) -> SyslogTimeFinder:
        return SyslogTimeFinder(SyslogContext.read(header))


class SyslogTimeFinder:
    """Finds the time in a line's header."""

    def __init__(self, context: SyslogContext) -> None:
        self._context = context

    def find_time(self, line: bytes) -> TimePlace | None:
        text = split_lines([line])["time"]
        if not text[0].is_valid:
            return None
        time = read_times("", text, self._context.changed, self._context.zone, {}).cast(pa.int64())[0]
        if not time.is_valid:
            return None
        start = line.index(text[0].as_py().encode())
        return TimePlace(start, start + len(text[0].as_py()), time.as_py())


FORMAT: Format = SyslogFormat()
