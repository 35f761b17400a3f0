"""The format ``zeek``: Zeek's logs as TSV, whose header lines name the columns, and as JSON lines."""

from __future__ import annotations

from collections.abc import Mapping

from watchfloor.ingest.formats.json.json_time import JsonTimeFinder
from watchfloor.ingest.parsing.format import Format, Match, SniffResult, describe_feed, is_of_family
from watchfloor.ingest.parsing.parsed import Parser, ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.ingest.parsing.time_place import TimeFinder
from watchfloor.schema.source import Source

from .sniff_json import describe_json, match_json
from .sniff_tsv import describe_tsv, has_header
from .zeek_json import ZeekJsonParser
from .zeek_time import ZeekTimeFinder
from .zeek_tsv import ZeekTsvParser


class ZeekFormat:
    """Zeek's logs, recognised by their header lines, or as JSON by their keys or by the file's name."""

    name = "zeek"
    family = "zeek"
    title = "a Zeek log"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        return Match.SIGNATURE if has_header(sample) else match_json(sample, sources)

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        if has_header(sample):
            return describe_tsv(sample, feed, sources)
        if feed is not None and not (sample.is_json and is_of_family(feed, self.family)):
            return describe_feed(feed, sources)
        return describe_json(sample, feed, sources)

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> Parser:
        if header:
            return ZeekTsvParser(header, resolve, source)
        path = feed if source is not None else feed[len(self.family) + 1 :]
        return ZeekJsonParser(path, resolve, source)

    def open_time_finder(self, header: bytes, source: Source) -> TimeFinder:
        return ZeekTimeFinder(header, source) if header else JsonTimeFinder(source)


FORMAT: Format = ZeekFormat()
