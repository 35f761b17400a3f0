"""The format ``access_log``: web servers' access logs, common and combined."""

from __future__ import annotations

from collections.abc import Mapping

from watchfloor.ingest.columns.scalars import time_parser
from watchfloor.ingest.parsing.format import Format, Match, SniffResult, describe_feed
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.ingest.parsing.time_place import TimePlace, read_time_place
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .access_log import AccessLogParser, find_time_text, is_access_line

SOURCE = "web.access"
"""The source that ships for access logs."""


class AccessLogFormat:
    """Access logs, recognised by the form of their lines."""

    name = "access_log"
    family = ""
    title = "an access log"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        return Match.CONTENT if not sample.is_json and any(map(is_access_line, sample.lines)) else Match.NONE

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        if sample.is_json:
            raise InputFileError(
                f"{show_path(sample.path)}: JSON lines, not {feed}; it begins {sample.beginning}; name another source"
            )
        return describe_feed(SOURCE if feed is None else feed, sources)

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> AccessLogParser:
        assert source is not None
        return AccessLogParser(source)

    def open_time_finder(self, header: bytes, source: Source) -> AccessTimeFinder:
        return AccessTimeFinder(source)


class AccessTimeFinder:
    """Finds the time between the brackets of a line."""

    def __init__(self, source: Source) -> None:
        self._parse = time_parser(source.time_format)

    def find_time(self, line: bytes) -> TimePlace | None:
        found = find_time_text(line)
        return None if found is None else read_time_place(line, *found, self._parse)


FORMAT: Format = AccessLogFormat()
