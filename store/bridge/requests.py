"""Requests for scans as values: ``EntryScan`` asks for entries, ``EventScan`` for events.

The fields of both are handed to Java by name. So a new field is declared here, read by its name in the Java class that
uses it (from its ``ScanRequest``), and set by the code that asks for it; no other file names it. In the same way a
field of ``ServerOptions`` reaches the iterator on the tablet servers (Java: ``EventOptions``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.value_sets import ValueSet

BATCH_ROWS = 4096
"""The number of entries in a batch of a scan for entries, unless another is asked for."""
MANY_REQUESTS = 8
"""Simultaneous requests of a scan that may return much: several to a tablet server that has several tablets."""


ServerOption = str | bytes | tuple[ValueSet, ...]
"""The value of an iterator's option."""


REGEX_FILTER = "org.apache.accumulo.core.iterators.user.RegExFilter"
"""The class of Accumulo's filter by patterns of the parts of a key."""


@dataclass(frozen=True)
class ServerIterator:
    """An iterator that the tablet servers run over a scan: its priority, name, Java class and options.

    An option of type bytes is sent in base64. Sets of values are an option each, whatever the name of all together.
    """

    priority: int
    name: str
    java_class: str
    options: Mapping[str, ServerOption] = field(default_factory=dict)


@dataclass(frozen=True)
class EntryScan:
    """Asks for the entries of a table in some key ranges.

    If ``ordered``, ranges are read one after the other by consecutive requests, and entries come in the order of their
    keys. Otherwise entries come in any order, by ``requests`` simultaneous requests, but at least one to each tablet
    server. A request costs client and server a millisecond of work, so a scan that returns little is fastest with one
    to each server. A batch has at most ``batch_rows`` entries. With a ``family``, only its entries are read.
    """

    table: str
    ranges: Ranges
    iterators: Sequence[ServerIterator] = ()
    ordered: bool = True
    batch_rows: int = BATCH_ROWS
    requests: int = MANY_REQUESTS
    family: str | None = None


@dataclass(frozen=True)
class ServerOptions:
    """Options of the iterator on the tablet servers that answers with events; an option of None is not sent.

    ``filter`` is the compiled filter program, ``time`` the source's time field. ``most`` is the largest number of
    events wanted of a block, its newest ones. ``sets`` are the sets of values to which the filter refers.
    """

    filter: bytes | None = None
    time: str | None = None
    most: int | None = None
    sets: tuple[ValueSet, ...] = ()


@dataclass(frozen=True)
class EventScan:
    """Asks for events in some key ranges of an event table, as a column ``row`` and one for each of ``columns``.

    ``stream`` is the Java class that reads a layout's answers, ``columns`` maps the names of fields to the types in
    which they are handed over (``values.bridge_type``). If ``ordered``, there is one range per shard, and events come
    newest first over all shards. Otherwise the ranges are looked up in any order, by ``requests`` simultaneous requests
    as in ``EntryScan``.

    The first batch has at most ``first_rows`` rows of the table and is handed over as soon as possible; later batches
    are handed over when they have ``batch_rows`` events. If a row of the table is a block of events, ``first_rows``
    counts blocks, and the first batch takes more of those at hand until some of its events come before all others.

    An ordered scan asks a server for ``first_rows`` rows of the table, then for more with each request, but at most for
    ``request_rows`` (None: ``batch_rows``). With a ``limit`` only about that number of newest events is wanted: batches
    and requests are no larger than that needs, and no shard is read ahead of what the limit is likely to need. All
    wanted events are before ``until`` (µs; None: not known).
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
    request_rows: int | None = None
    limit: int | None = None
    until: int | None = None
