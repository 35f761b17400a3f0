"""The format ``text``: lines that the patterns of a definition fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from watchfloor.ingest.columns.scalars import time_parser
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.mapping.field_rule import find_rule
from watchfloor.ingest.parsing.format import Format, Match, SniffResult, describe_feed
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.ingest.parsing.time_place import TimePlace, read_time_place
from watchfloor.schema.errors import InputFileError, UnknownSourceError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source
from watchfloor.schema.text import list_names

from .text import OtherSource, TextParser


class TextFormat:
    """Lines of text, recognised by the known source of whose patterns most of the first lines are events."""

    name = "text"
    family = ""
    title = "lines that a definition's patterns fit"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        if sample.is_json:
            return Match.NONE
        if len(find_marked(sample, sources)) == 1:
            return Match.MARK
        if len(find_fitting(sample, sources)) == 1:
            return Match.FIELDS
        return Match.SHAPE if find_fitting(sample, sources, is_fallback=True) else Match.NONE

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        if feed is not None:
            return _describe_source(sample, feed, sources)
        fitting = (
            find_marked(sample, sources)
            or find_fitting(sample, sources)
            or find_fitting(sample, sources, is_fallback=True)
        )
        if len(fitting) != 1:
            names = list_names([source.name for source in fitting])
            raise InputFileError(f"{show_path(sample.path)}: the patterns of {names} all fit; name its source")
        return _describe_source(sample, fitting[0].name, sources)

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> TextParser:
        assert source is not None
        also = [OtherSource(name, resolve) for name in source.parser.get("also", ())]
        return TextParser(source, int(header or b"0"), also)

    def open_time_finder(self, header: bytes, source: Source) -> TextTimeFinder:
        return TextTimeFinder(source)


class TextTimeFinder:
    """Finds the time where a pattern has found it, if one group is the time."""

    def __init__(self, source: Source) -> None:
        self._parse = time_parser(source.time_format)
        self._patterns = [re.compile(pattern) for pattern in source.parser["patterns"].values()]
        self._origins = find_rule(source, source.time_field).origins

    def find_time(self, line: bytes) -> TimePlace | None:
        text = line.decode(errors="surrogateescape")
        match = next((found for pattern in self._patterns if (found := pattern.search(text))), None)
        groups = [] if match is None else [name for name in self._origins if match.groupdict().get(name)]
        if match is None or len(groups) != 1:
            return None
        start = len(text[: match.start(groups[0])].encode(errors="surrogateescape"))
        return read_time_place(line, start, start + len(match[groups[0]].encode()), self._parse)


def _describe_source(sample: FileSample, name: str, sources: Mapping[str, Source]) -> SniffResult:
    """Returns how a file of a source is read: times that may lack a year need the time of the file's last change."""
    result = describe_feed(name, sources)
    for other in sources[name].parser.get("also", ()) if name in sources else ():
        if other not in sources:
            raise UnknownSourceError(other, sources)
        if sources[other].parser["format"] != TextFormat.name:
            raise InputFileError(
                f"{show_path(sample.path)}: {name} has lines of {other} beside it, whose format is not "
                f"{TextFormat.name}; correct the member also of its definition"
            )
    changed = _find_change(sample, sources[name]) if name in sources else 0
    return replace(result, header=str(changed).encode()) if changed else result


def _find_change(sample: FileSample, source: Source) -> int:
    """Returns the time of the file's last change (µs) if times of the source may lack a year, otherwise 0."""
    return sample.changed if source.parser.get("year") == "file" else 0


def find_marked(sample: FileSample, sources: Mapping[str, Source]) -> list[Source]:
    """Returns the sources whose mark, or that of a source that may be beside them, is in most lines of a sample.

    Of sources that may be beside each other only the one with most lines is returned, the first of several.
    """
    texts = {name: source for name, source in sources.items() if source.parser["format"] == TextFormat.name}
    counts = {
        name: sum(mark in line for line in sample.lines)
        for name, source in texts.items()
        if (mark := source.parser.get("mark", "").encode())
    }
    found: list[Source] = []
    for name in sorted((name for name, count in counts.items() if count), key=lambda name: -counts[name]):
        beside = [other for other in texts[name].parser.get("also", ()) if other in counts]
        most = 2 * sum(counts[each] for each in (name, *beside)) > len(sample.lines)
        if most and not any(name in source.parser.get("also", ()) for source in found):
            found.append(texts[name])
    return found


def find_fitting(sample: FileSample, sources: Mapping[str, Source], is_fallback: bool = False) -> list[Source]:
    """Returns the sources with most events among the first lines, of those for which most lines are events.

    Only sources are asked whose definition's ``fallback`` is ``is_fallback``.
    """
    chunk = Chunk(0, b"\n".join(sample.lines))
    texts = [
        source
        for source in sources.values()
        if source.parser["format"] == TextFormat.name and source.parser.get("fallback", False) is is_fallback
    ]
    counts = {}
    for source in texts:
        parsed = TextParser(source, _find_change(sample, source)).parse(chunk)
        counts[source.name] = parsed.count if parsed.count > len(parsed.rejected) else 0
    most = max(counts.values(), default=0)
    return [source for source in texts if most and counts[source.name] == most]


FORMAT: Format = TextFormat()
