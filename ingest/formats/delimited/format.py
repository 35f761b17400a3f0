"""The format ``delimited``: lines of cells between delimiters, whose names a header line or the definition gives."""

from __future__ import annotations

from collections.abc import Mapping

from watchfloor.ingest.columns.scalars import time_parser
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.mapping.field_rule import find_rule, read_rules
from watchfloor.ingest.parsing.format import Format, Match, SniffResult
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.ingest.parsing.time_place import TimePlace, read_time_place
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source
from watchfloor.schema.text import list_names

from .delimited import DelimitedParser
from .dialect import Dialect


class DelimitedFormat:
    """Lines of cells, recognised by a header with the columns of a known source, or by lines that fit one."""

    name = "delimited"
    family = ""
    title = "delimited lines"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        if sample.is_json:
            return Match.NONE
        fitting = find_fitting(sample, sources)
        if len(fitting) != 1:
            return Match.SHAPE if fitting else Match.NONE
        return Match.FIELDS if Dialect.of(fitting[0]).columns else Match.ALL_FIELDS

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        path = show_path(sample.path)
        if feed is not None:
            source = sources[feed]
        else:
            fitting = find_fitting(sample, sources)
            if len(fitting) != 1:
                which = (
                    f"the sources {list_names([s.name for s in fitting])} all fit"
                    if fitting
                    else "no known source fits"
                )
                raise InputFileError(
                    f"{path}: delimited lines, and {which}; it begins {sample.beginning}; name its source"
                )
            source = fitting[0]
        header = b"" if Dialect.of(source).columns else Dialect.of(source).find_header(sample.lines)
        if not Dialect.of(source).columns and (missing := _find_missing(source, header)):
            raise InputFileError(
                f"{path}: its header names no {missing}, from which {source.name} makes its time; "
                f"it begins {sample.beginning}; name another source, or mend the header"
            )
        return SniffResult(source.name, header, (source,))

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> DelimitedParser:
        assert source is not None
        return DelimitedParser(source, header)

    def open_time_finder(self, header: bytes, source: Source) -> DelimitedTimeFinder:
        return DelimitedTimeFinder(header, source)


class DelimitedTimeFinder:
    """Finds the cell of the time, if one cell has it."""

    def __init__(self, header: bytes, source: Source) -> None:
        self._dialect, self._parse = Dialect.of(source), time_parser(source.time_format)
        rule = find_rule(source, source.time_field)
        names = self._dialect.name_cells(header)
        found = [names.index(origin) for origin in rule.origins if origin in names]
        self._place = found[0] if len(found) == 1 else None

    def find_time(self, line: bytes) -> TimePlace | None:
        if self._place is None:
            return None
        cells = self._dialect.split(line)
        if self._place >= len(cells) or line.count(text := cells[self._place].encode()) != 1:
            return None
        start = line.index(text)
        return read_time_place(line, start, start + len(text), self._parse)


def find_fitting(sample: FileSample, sources: Mapping[str, Source]) -> list[Source]:
    """Returns the sources that fit the first lines of a file, of those by a header only the one with most columns."""
    delimited = [source for source in sources.values() if source.parser["format"] == DelimitedFormat.name]
    by_header = {source.name: _count_named(source, sample) for source in delimited}
    if most := max(by_header.values(), default=0):
        return [source for source in delimited if by_header[source.name] == most]
    return [source for source in delimited if Dialect.of(source).columns and _has_events(source, sample)]


def _count_named(source: Source, sample: FileSample) -> int:
    """Returns how many columns a file's header names that make fields of a source; 0 if it lacks one."""
    dialect = Dialect.of(source)
    if dialect.columns:
        return 0
    named = frozenset(dialect.split(dialect.find_header(sample.lines)))
    rules = [rule for rule in read_rules(source) if rule.origins]
    if not all(rule.is_optional or named & set(rule.origins) for rule in rules):
        return 0
    return len(named.intersection(*[{name for rule in rules for name in rule.origins}]))


def _has_events(source: Source, sample: FileSample) -> bool:
    """Returns True if most of the first lines are events of a source."""
    parsed = DelimitedParser(source, b"").parse(Chunk(0, b"\n".join(sample.lines)))
    return parsed.count > len(parsed.rejected)


def _find_missing(source: Source, header: bytes) -> str:
    """Returns the raw names of the time that a header does not name; empty if it names them."""
    rule = find_rule(source, source.time_field)
    named = Dialect.of(source).split(header)
    found = [origin for origin in rule.origins if origin in named]
    enough = len(found) == len(rule.origins) if rule.join is not None else bool(found)
    return "" if enough else " or ".join(rule.origins)


FORMAT: Format = DelimitedFormat()
