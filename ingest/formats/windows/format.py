"""The format ``windows``: Windows events as JSON lines, a source for each channel."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from watchfloor.ingest.formats.json.json_time import JsonTimeFinder
from watchfloor.ingest.formats.json.json_values import Record, decode_records
from watchfloor.ingest.parsing.format import Format, Match, SniffResult, describe_feed, is_of_family
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.source import Source

from .channels import FAMILY, channel_source, name_source, write_channels
from .names import TIME_PATHS, find_channel, is_windows_record
from .windows import SAMPLE_LINES, WindowsParser

_CHANNEL_LINES = 10_000
"""The number of lines in which sniffing looks for channels."""
_MOST_CHANNELS = 1000


class WindowsFormat:
    """Windows events as evtx_dump, Winlogbeat or NXLog write them, recognised by their channel and number."""

    name = "windows"
    family = FAMILY
    title = "Windows events as JSON lines"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        if sample.is_json and any(map(is_windows_record, decode_records(sample.lines))):
            return Match.CONTENT
        return Match.NONE

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        if feed is not None and not (sample.is_json and is_of_family(feed, self.family)):
            return describe_feed(feed, sources)
        header = write_channels(sources.values())
        return SniffResult(self.family, header, _sources_of_channels(sample, sources))

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> WindowsParser:
        return WindowsParser(header, resolve, source)

    def open_time_finder(self, header: bytes, source: Source) -> JsonTimeFinder:
        return JsonTimeFinder(source, TIME_PATHS)


def _sources_of_channels(sample: FileSample, sources: Mapping[str, Source]) -> tuple[Source, ...]:
    """Returns a source for each channel near the file's beginning: the known one, or one that is made for it."""
    records: dict[str, list[Record]] = {}
    for record in decode_records(islice(sample.read_lines(), _CHANNEL_LINES)):
        channel = find_channel(record).lower()
        if channel and (channel in records or len(records) < _MOST_CHANNELS):
            of_channel = records.setdefault(channel, [])
            if len(of_channel) < SAMPLE_LINES:
                of_channel.append(record)
    told = {
        channel.lower(): source
        for source in {**builtin_definitions(), **sources}.values()
        for channel in source.parser.get("channels", ())
    }
    found = {}
    for channel, of_channel in records.items():
        name = told[channel].name if channel in told else name_source(channel)
        found[name] = told.get(channel) or sources.get(name) or channel_source(name, channel, of_channel)
    return tuple(found.values())


FORMAT: Format = WindowsFormat()
