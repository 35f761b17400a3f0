"""The format ``json``: JSON lines of one source, which has a definition."""

from __future__ import annotations

from collections.abc import Mapping

from watchfloor.ingest.parsing.format import Format, Match, SniffResult, describe_feed
from watchfloor.ingest.parsing.parsed import ResolveSource
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source
from watchfloor.schema.text import list_names

from .json_keys import find_by_keys
from .json_lines import JsonParser
from .json_mapped import is_mapped
from .json_time import JsonTimeFinder
from .json_values import decode_records


class JsonFormat:
    """JSON lines of one source, which the user names, or which a definition fits by its keys or fields."""

    name = "json"
    family = ""
    title = "JSON lines"

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        if not sample.is_json:
            return Match.NONE
        if find_by_keys(decode_records(sample.lines), sources.values()):
            return Match.CONTENT
        fitting = fitting_sources(sample, sources)
        if len(fitting) != 1:
            return Match.SHAPE
        # Lines of a shipped source have all of its fields, which tells more than a file's name does. Lines of another
        # source may have only some, which tells less.
        return Match.ALL_FIELDS if fitting[0].name in builtin_definitions() else Match.FIELDS

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        if feed is not None:
            return describe_feed(feed, sources)
        records = decode_records(sample.lines)
        fitting = (
            find_by_keys(records, sources.values())
            or fitting_sources(sample, sources)
            or find_by_keys(records, sources.values(), is_fallback=True)
        )
        if len(fitting) == 1:
            return describe_feed(fitting[0].name, sources)
        which = f"the sources {list_names([s.name for s in fitting])} all fit" if fitting else "no known source fits"
        raise InputFileError(
            f"{show_path(sample.path)}: JSON lines, and {which}; it begins {sample.beginning}; "
            "name its source, or write a source definition for it"
        )

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> JsonParser:
        assert source is not None
        return JsonParser(source)

    def open_time_finder(self, header: bytes, source: Source) -> JsonTimeFinder:
        return JsonTimeFinder(source)


def fitting_sources(sample: FileSample, sources: Mapping[str, Source]) -> list[Source]:
    """Returns the JSON sources that have every key of the first lines, if all of these lines have the source's time.

    A source that ships fits only lines with all of its fields. Such sources describe generated events, which have all
    fields, and must not compete with the user's own sources for other lines.
    """
    records = decode_records(sample.lines)
    keys = {key for record in records for key in record}
    shipped = builtin_definitions()
    return [
        source
        for source in sources.values()
        if records
        and source.parser["format"] == "json"
        and not is_mapped(source)
        and "keys" not in source.parser
        and all(source.time_field in record for record in records)
        and keys <= {name for f in source.fields for name in (f.name, f.name.partition(".")[0])}
        and (source.name not in shipped or keys >= set(shipped[source.name].fields_by_name))
    ]


FORMAT: Format = JsonFormat()
