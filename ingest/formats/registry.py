"""Parsers: chunks of a log file to typed events and rejected lines.

A *feed* says how a file is read: ``zeek`` or ``zeek.LOG`` (TSV where it has header lines, else JSON), ``suricata``
(EVE JSON, a source per type), or the name of any other source, whose definition names its parser.
"""

from __future__ import annotations

from watchfloor.ingest.formats.access_log.access_log import AccessLogParser
from watchfloor.ingest.formats.eve.eve import EveParser
from watchfloor.ingest.formats.json.json_lines import JsonParser
from watchfloor.ingest.formats.zeek.zeek_json import ZeekJsonParser
from watchfloor.ingest.formats.zeek.zeek_tsv import ZeekTsvParser
from watchfloor.schema.errors import UnknownSourceError
from watchfloor.schema.source import Source, builtin_definitions

from .format import Parsed, Parser, Resolve

__all__ = ["Parsed", "Parser", "Resolve", "is_family", "open_parser"]

ZEEK, SURICATA = "zeek", "suricata"


def is_family(feed: str, family: str) -> bool:
    """Whether a feed is a family of sources (``zeek``) or one of its sources (``zeek.conn``)."""
    return feed == family or feed.startswith(f"{family}.")


def open_parser(feed: str, header: bytes, resolve: Resolve) -> Parser:
    """The parser of a file, or of a byte range of it.

    ``header`` are the Zeek header lines that come before the first chunk; empty for all other files. Raises
    ``UnknownSourceError`` if the feed is the name of no source.
    """
    if is_family(feed, ZEEK):
        return ZeekTsvParser(header, resolve) if header else ZeekJsonParser(feed[len(ZEEK) + 1 :], resolve)
    if is_family(feed, SURICATA):
        return EveParser(resolve)
    source = resolve(feed, lambda: _curated(feed))
    match source.parser["format"]:
        case "access_log":
            return AccessLogParser(source)
        case "zeek":
            return ZeekTsvParser(header, resolve, source) if header else ZeekJsonParser(feed, resolve, source)
        case "eve":
            return EveParser(resolve, source)
        case _:
            return JsonParser(source)


def _curated(name: str) -> Source:
    curated = builtin_definitions()
    if name not in curated:
        raise UnknownSourceError(name, curated)
    return curated[name]
