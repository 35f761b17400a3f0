"""Finds the text formats: every folder beside this file is one, and its ``format.py`` holds ``FORMAT``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path

from watchfloor.ingest.mapping.parser_schema import check_parser
from watchfloor.ingest.parsing.format import Format, SniffResult, is_of_family
from watchfloor.ingest.parsing.parsed import Parser, ResolveSource
from watchfloor.ingest.parsing.time_place import NoTimeFinder, TimeFinder
from watchfloor.schema.definition import find_builtin
from watchfloor.schema.errors import DefinitionError, UnknownSourceError, suggest_names
from watchfloor.schema.source import Source


@lru_cache(1)
def load_formats() -> Mapping[str, Format]:
    """Imports each format's folder. Returns the formats by name, in the order of their names."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.ispkg:
            found[module.name] = importlib.import_module(f"{__package__}.{module.name}.format").FORMAT
    return found


def check_format(source: Source, where: str = "definition") -> Source:
    """Returns ``source`` if its definition names an existing format and says what that format understands.

    Raises ``DefinitionError`` otherwise. ``where`` is the definition's name in errors.
    """
    name, formats = source.parser["format"], load_formats()
    if name not in formats:
        raise DefinitionError(
            f"{where}.parser.format: {name!r} is not one of {', '.join(formats)}{suggest_names(name, formats)}"
        )
    check_parser(source, name, where)
    return source


def find_format(feed: str, sources: Mapping[str, Source]) -> Format:
    """Returns the format in which the files of a feed are read.

    Raises ``UnknownSourceError`` if the feed is neither a family nor among ``sources``, ``DefinitionError`` if the
    source's format does not exist.
    """
    for family_format in load_formats().values():
        if is_of_family(feed, family_format.family):
            return family_format
    if feed not in sources:
        raise UnknownSourceError(feed, sources)
    return load_formats()[check_format(sources[feed], feed).parser["format"]]


def find_family(feed: str) -> str:
    """Returns the family that a feed names or belongs to; empty if the feed is a single source."""
    families = (text_format.family for text_format in load_formats().values())
    return next((family for family in families if is_of_family(feed, family)), "")


def sources_of_feed(feed: str, sources: Mapping[str, Source]) -> list[Source]:
    """Returns the sources to which a file of this feed may have written events."""
    family = find_family(feed)
    if family:
        return [source for name, source in sources.items() if is_of_family(name, family)]
    beside = sources[feed].parser.get("also", ()) if feed in sources else ()
    return [source for name, source in sources.items() if name == feed or name in beside]


def open_parser(feed: str, header: bytes, resolve: ResolveSource) -> Parser:
    """Opens the parser of a file, or of a byte range of it.

    ``header`` holds the header lines before the first chunk; empty if there are none. Raises ``UnknownSourceError`` if
    the feed names no source, ``DefinitionError`` if the source's format does not exist.
    """
    if find_family(feed):
        return find_format(feed, {}).open_parser(feed, header, resolve, None)
    source = resolve(feed, partial(find_builtin, feed))
    return find_format(feed, {feed: source}).open_parser(feed, header, resolve, source)


def open_time_finder(sniffed: SniffResult) -> tuple[TimeFinder, str]:
    """Returns a finder of the times in a file's lines, and the name of their format as in definitions."""
    if not sniffed.sources:  # a file without lines
        return NoTimeFinder(), "iso8601"
    # The sources of one file all have their time under the same name and in the same format.
    source = sniffed.sources[0]
    text_format = load_formats()[check_format(source, source.name).parser["format"]]
    return text_format.open_time_finder(sniffed.header, source), source.time_format
