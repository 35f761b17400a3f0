"""The format ``elff``: logs whose ``#Fields`` lines name their columns."""

from __future__ import annotations

from collections.abc import Mapping

from watchfloor.ingest.files.line_search import find_lines
from watchfloor.ingest.mapping.field_rule import find_rule, read_rules
from watchfloor.ingest.parsing.format import Format, Match, SniffResult
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.ingest.parsing.time_place import NoTimeFinder, TimeFinder
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .elff import FIELDS, ElffParser, read_names

_SOFTWARE = b"#Software:"


class ElffFormat:
    """Extended log files, recognised by their directives."""

    name = "elff"
    family = ""
    title = "an extended log file"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        return Match.SIGNATURE if _find_directive(sample, FIELDS) else Match.NONE

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        header, path = _find_directive(sample, FIELDS), show_path(sample.path)
        if not header:
            raise InputFileError(f"{path}: has no #Fields line; it begins {sample.beginning}; name another source")
        source = _choose_source(sample, header, sources) if feed is None else sources[feed]
        if source.parser["format"] != self.name:
            raise InputFileError(f"{path}: {self.title}, not {feed}; name no source, or one of this format")
        names, rule = read_names(header), find_rule(source, source.time_field)
        if missing := [origin for origin in rule.origins if origin not in names]:
            raise InputFileError(
                f"{path}: its #Fields line does not name {' and '.join(missing)}, of which {source.name} makes its "
                "time; let the server log them"
            )
        return SniffResult(source.name, header, (source,), _has_one_header(sample, header))

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> ElffParser:
        assert source is not None
        return ElffParser(source, header)

    def open_time_finder(self, header: bytes, source: Source) -> TimeFinder:
        """Returns a finder of nothing: date and time are columns of their own."""
        return NoTimeFinder()


def _find_directive(sample: FileSample, name: bytes) -> bytes:
    """Returns the first line with a directive before all other lines; empty if there is none."""
    for line in sample.lines:
        if line.startswith(name):
            return line
        if not line.startswith(b"#"):
            break
    return b""


def _choose_source(sample: FileSample, header: bytes, sources: Mapping[str, Source]) -> Source:
    """Returns the source whose software has written the file, or else the one that makes fields of most columns."""
    software = _find_directive(sample, _SOFTWARE).removeprefix(_SOFTWARE).strip().decode(errors="replace")
    known = [source for source in sources.values() if source.parser["format"] == ElffFormat.name]
    for source in known:
        if source.parser.get("software") and software.startswith(source.parser["software"]):
            return source
    names = frozenset(read_names(header))
    counts = {s.name: len(names & {origin for rule in read_rules(s) for origin in rule.origins}) for s in known}
    most = max(counts.values(), default=0)
    best = [source for source in known if counts[source.name] == most]
    if len(best) != 1 or 2 * most < len(names):
        raise InputFileError(
            f"{show_path(sample.path)}: an extended log file, and no known source has its columns "
            f"({', '.join(sorted(names)[:8])}, …); name its source, or write a source definition for it"
        )
    return best[0]


def _has_one_header(sample: FileSample, header: bytes) -> bool:
    """Returns True if all ``#Fields`` lines of a plain file are the same, so that lines can be read from any place."""
    if sample.compressed:
        return False
    return all(line == header for line in find_lines(sample.file.fileno(), FIELDS))


FORMAT: Format = ElffFormat()
