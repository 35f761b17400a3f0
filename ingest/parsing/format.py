"""The contract of a text format. ``watchfloor.ingest.formats`` holds one folder for each, found by looking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from watchfloor.schema.source import Source

from .parsed import Parser, ResolveSource
from .sample import FileSample
from .time_place import TimeFinder


class Match(IntEnum):
    """The degree to which a file's first lines fit a format. The format with the highest value wins."""

    NONE = 0
    SHAPE = 1
    """The lines have the shape of the format, but nothing tells their source."""
    FIELDS = 2
    """Exactly one known source has all fields of the lines."""
    FILE_NAME = 3
    """The file's name is that of a well-known log of the format."""
    ALL_FIELDS = 4
    """The lines have exactly the fields of a source that ships."""
    CONTENT = 5
    """The lines hold keys, or have a form, that hardly any other format has."""
    MARK = 6
    """Most lines hold a text of which a known source's definition says that no other log has it."""
    SIGNATURE = 7
    """The file begins with words that no other format has. Such a file is refused under any other format's feed."""


@dataclass(frozen=True)
class SniffResult:
    """The way in which a file is to be read.

    ``feed`` and ``header`` are for ``open_parser``; every byte range of the file needs the header. ``sources`` are to
    be registered before the file is queued. A file that is not ``splittable`` must be one work item: its header changes
    on the way, or it is compressed.
    """

    feed: str
    header: bytes
    sources: tuple[Source, ...]
    splittable: bool = True


class Format(Protocol):
    """One text format.

    A *feed* says how a file is read. It is the name of a source, whose definition names the format; or a *family* of
    sources (``zeek``, ``suricata``) or one of the family (``zeek.conn``): then the lines tell their sources, and the
    format makes the definitions of those that nobody knows.
    """

    name: str
    """The name in definitions (``"parser": {"format": …}``). The format's folder bears it too."""
    family: str
    """The family of sources that the format makes definitions for; empty if all its sources come from definitions."""
    title: str
    """The format in words, with an article, for messages."""

    def match(self, sample: FileSample, sources: Mapping[str, Source]) -> Match:
        """Returns how well the first lines of a file fit this format.

        ``sources`` are all known sources, by name.
        """

    def describe(self, sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
        """Returns how a file of this format is to be read.

        ``feed`` is the one that the user has named; None leaves that to the file's lines. Raises ``InputFileError``
        with the file, what was seen and the remedy, if the file cannot be read so.
        """

    def open_parser(self, feed: str, header: bytes, resolve: ResolveSource, source: Source | None) -> Parser:
        """Opens the parser of a file, or of a byte range of it.

        ``header`` is that of the ``SniffResult``. ``source`` is the source of all lines; None if ``feed`` is the
        format's family or one of its sources.
        """

    def open_time_finder(self, header: bytes, source: Source) -> TimeFinder:
        """Opens a finder of the event's time in the lines of a file with this ``header``.

        ``source`` gives the name of the time's field and its format.
        """


def is_of_family(feed: str, family: str) -> bool:
    """Returns true if a feed is a family of sources (``zeek``) or one of its sources (``zeek.conn``)."""
    return bool(family) and (feed == family or feed.startswith(f"{family}."))


def describe_feed(feed: str, sources: Mapping[str, Source]) -> SniffResult:
    """Returns the result for a file whose feed tells all that is needed."""
    return SniffResult(feed, b"", (sources[feed],) if feed in sources else ())
