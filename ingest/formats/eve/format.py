"""The format ``eve``: Suricata's EVE JSON, a source for each type of event."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from watchfloor.ingest.formats.json.json_time import JsonTimeFinder
from watchfloor.ingest.formats.json.json_values import Record, decode_records
from watchfloor.ingest.parsing.format import Format, Match, SniffResult, describe_feed, is_of_family
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.schema.source import Source

from .eve import TYPE_KEY, EveParser, eve_source, eve_source_name

_TYPE_LINES = 10_000
"""The number of lines in which sniffing looks for types of events."""
_MAX_TYPES = 1000


class EveFormat:
    """EVE JSON, recognised by the type and the time of its records."""

    name = "eve"
    family = "suricata"
    title = "JSON lines"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        if sample.is_json and any(map(_is_eve_record, decode_records(sample.lines))):
            return Match.CONTENT
        return Match.NONE

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        if feed is not None and not (sample.is_json and is_of_family(feed, self.family)):
            return describe_feed(feed, sources)
        return SniffResult(self.family, b"", _sources_of_types(sample, sources))

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> EveParser:
        return EveParser(resolve, source)

    def open_time_finder(self, header: bytes, source: Source) -> JsonTimeFinder:
        return JsonTimeFinder(source)


def _is_eve_record(record: Record) -> bool:
    return isinstance(record.get(TYPE_KEY), str) and "timestamp" in record


def _sources_of_types(sample: FileSample, sources: Mapping[str, Source]) -> tuple[Source, ...]:
    """Returns a source for each type of event near the file's beginning: the known one, or one that is made for it."""
    kinds: dict[str, None] = {}
    for record in decode_records(islice(sample.read_lines(), _TYPE_LINES)):
        kind = record.get(TYPE_KEY)
        if isinstance(kind, str) and kind and len(kinds) < _MAX_TYPES:
            kinds[kind] = None
    names = {eve_source_name(kind): kind for kind in kinds}
    return tuple(sources.get(name) or eve_source(kind) for name, kind in names.items())


FORMAT: Format = EveFormat()
