"""Requests for scans, each one value: ``EntryScan`` for entries, ``EventScan`` for events.

The fields of both cross into Java by their names, so a new one is declared here, read by name in the Java class that
uses it (from its ``ScanRequest``), and set by its user: no other file names it. A field of ``ServerOptions`` likewise
reaches the iterator on the tablet servers (Java: ``EventOptions``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from watchfloor.store.encoding.ranges import Ranges

MANY_REQUESTS = 8
"""Requests at once for a scan that may bring much: several to a tablet server that has several tablets."""


@dataclass(frozen=True)
class ServerIterator:
    """An iterator that the tablet servers run over a scan: its priority, a name, its Java class and its options.

    An option of bytes is sent in base64.
    """

    priority: int
    name: str
    java_class: str
    options: Mapping[str, str | bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class EntryScan:
    """Asks for the entries of a table in some key ranges.

    ``ordered``: range after range, keys in order, by one request after the other. Otherwise entries come in any order,
    by ``requests`` at once, or by one a tablet server if these are more: for little, one a server is soonest, as each
    costs client and server a millisecond of work. A batch has at most ``batch_rows`` entries.
    """

    table: str
    ranges: Ranges
    iterators: Sequence[ServerIterator] = ()
    ordered: bool = True
    batch_rows: int = 4096
    requests: int = MANY_REQUESTS


@dataclass(frozen=True)
class ServerOptions:
    """Options of the iterator on the tablet servers that answers with events; None is left out.

    ``filter``: the compiled filter program. ``time``: the source's time field. ``most``: of a block of events only its
    newest so many are wanted.
    """

    filter: bytes | None = None
    time: str | None = None
    most: int | None = None


@dataclass(frozen=True)
class EventScan:
    """Asks for events in some key ranges of an event table, as a column ``row`` and one for each of ``columns``.

    ``stream`` is the Java class that reads a layout's answers, ``columns`` maps the names of fields to the types that
    they come as (``values.bridge_type``). ``ordered``: the ranges are one a shard, and events come newest first over
    all of them. Otherwise the ranges are looked up in any order, by ``requests`` at once as in ``EntryScan``.

    The first batch has at most ``first_rows`` rows and is handed over as soon as possible, later ones have
    ``batch_rows``. If a row of the table is a block of events, these numbers count blocks.
    """

    stream: str
    table: str
    ranges: Ranges
    columns: Mapping[str, str]
    first_rows: int
    batch_rows: int
    ordered: bool = True
    requests: int = MANY_REQUESTS
    server: ServerOptions = ServerOptions()
