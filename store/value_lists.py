"""Reads named lists of values from a table that all clients share: ``ip in @bad_ips`` (``docs/using/lists.md``).

A list is a row with a cell for each of its last versions, whose qualifier is the version. The values of a version are
in a row of their own, which is written before that cell and removed after it, so readers find a whole version or none.
All cells have the list's label as their visibility, so that the store shows nothing of a list to whoever lacks it.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from watchfloor.schema.errors import StoreError, UnknownListError, UserError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.value_list import ValueList
from watchfloor.schema.times import format_micros
from watchfloor.store.admin.tables import LISTS_TABLE
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges, prefix_end
from watchfloor.store.encoding.value_sets import ValueSet, unpack_value_set

from .reader import Reader

KEPT_BYTES = 256 << 20
"""The largest number of bytes of values that a process keeps for later queries."""
_LIST, _VALUES = b"l", b"v"
_FEW_CELLS = 8
"""Entries in a batch of a scan for values; a cell has up to a megabyte."""


@dataclass(frozen=True)
class StoredList:
    """One version of a list, without its values.

    ``type`` is one of ``list_file.LIST_TYPES``, ``scalar`` the type of field that it fits. ``values`` and ``networks``
    are numbers, ``label`` its visibility. ``version`` is the time of its ``put`` and ``expires`` its end, in µs (None:
    none). Its values are in ``pieces`` cells of the row that ``upload`` names; its details, which are the networks as
    they were written and the comments, in ``detail_pieces`` cells.
    """

    name: str
    version: int
    type: str
    scalar: str
    values: int
    networks: int
    label: str
    expires: int | None
    upload: str
    pieces: int
    detail_pieces: int

    @property
    def count(self) -> int:
        return self.values + self.networks

    @property
    def row(self) -> bytes:
        return make_list_row(self.name)

    @property
    def values_row(self) -> bytes:
        return _VALUES + self.upload.encode()

    def is_expired(self, now: int) -> bool:
        """Returns whether the list may not be used any more at ``now`` (µs)."""
        return self.expires is not None and self.expires <= now


@dataclass(frozen=True)
class ListDetails:
    """The networks of a list as they were written, and comments by the text of a value or network."""

    networks: tuple[str, ...] = ()
    comments: Mapping[str, str] = field(default_factory=dict)

    def pack(self) -> bytes:
        """Returns the details as the store has them."""
        return zlib.compress(json.dumps([self.networks, dict(self.comments)]).encode(), 1)

    @classmethod
    def unpack(cls, packed: bytes) -> ListDetails:
        networks, comments = json.loads(zlib.decompress(packed))
        return cls(tuple(networks), comments)


def make_list_row(name: str) -> bytes:
    """Returns the row of a list."""
    return _LIST + name.encode()


def make_version_qualifier(version: int) -> bytes:
    return b"%020d" % version


def make_piece_qualifier(kind: str, number: int) -> bytes:
    """Returns the qualifier of a cell with a part of the values (``v``) or of the details (``d``)."""
    return b"%s%06d" % (kind.encode(), number)


def read_lists(reader: Reader, name: str | None = None) -> dict[str, list[StoredList]]:
    """Returns the kept versions of each list that the reader sees, or of one, the newest first."""
    ranges = Ranges()
    if name is None:
        ranges.add_rows(_LIST, prefix_end(_LIST))
    else:
        ranges.add_row(make_list_row(name))
    found: dict[str, list[StoredList]] = {}
    for batch in reader.scan(EntryScan(LISTS_TABLE, ranges)):
        for value in batch.column("value").to_pylist():
            stored = StoredList(**json.loads(value))
            found.setdefault(stored.name, []).append(stored)
    return {key: sorted(kept, key=lambda one: -one.version) for key, kept in sorted(found.items())}


def find_stored_list(reader: Reader, name: str, version: int | None = None) -> StoredList:
    """Returns a version of a list; None stands for the newest.

    Raises ``UnknownListError`` if the reader sees no list of this name, and ``UserError`` if the version is gone.
    """
    kept = read_lists(reader, name).get(name)
    if kept is None:
        raise UnknownListError(name, read_lists(reader))
    if version is None:
        return kept[0]
    for stored in kept:
        if stored.version == version:
            return stored
    raise UserError(
        f"the version of the list {name} with which this query began is gone: it was replaced since, the last time at "
        f"{format_micros(kept[0].version)}; ask again without the cursor"
    )


def find_list(reader: Reader, name: str, version: int | None = None) -> ValueList:
    """Returns a list with its values, as ``find_stored_list`` does; raises ``UserError`` if it has expired, too."""
    stored = find_stored_list(reader, name, version)
    if stored.expires is not None and stored.is_expired(time.time_ns() // 1000):
        ended = format_micros(stored.expires)
        raise UserError(f"the list {name} expired at {ended}; put it again (watchfloor lists put {name} FILE)")
    content = _KEPT.find(stored.upload)
    if content is None:
        content = unpack_value_set(_read_pieces(reader, stored, "v", stored.pieces))
        _KEPT.put(stored.upload, content)
    return ValueList(name, stored.version, FieldType(stored.scalar), stored.count, content)


def read_details(reader: Reader, name: str, version: int) -> ListDetails:
    """Returns the details of a version of a list. Raises as ``find_stored_list`` does."""
    stored = find_stored_list(reader, name, version)
    return ListDetails.unpack(_read_pieces(reader, stored, "d", stored.detail_pieces))


def _read_pieces(reader: Reader, stored: StoredList, kind: str, count: int) -> bytes:
    """Returns the values or the details of a list as they were written. Raises ``StoreError`` if parts are missing."""
    ranges = Ranges()
    ranges.add_qualifiers(stored.values_row, make_piece_qualifier(kind, 0), make_piece_qualifier(kind, count))
    pieces: list[bytes] = []
    for batch in reader.scan(EntryScan(LISTS_TABLE, ranges, batch_rows=_FEW_CELLS)):
        pieces += batch.column("value").to_pylist()
    if len(pieces) != count:
        raise StoreError(f"the list {stored.name} was replaced while it was read; ask again")
    return b"".join(pieces)


class _KeptSets:
    """The values of the lists that were used last, by upload. An upload never changes. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sets: OrderedDict[str, ValueSet] = OrderedDict()

    def find(self, upload: str) -> ValueSet | None:
        with self._lock:
            if upload in self._sets:
                self._sets.move_to_end(upload)
            return self._sets.get(upload)

    def put(self, upload: str, content: ValueSet) -> None:
        with self._lock:
            self._sets[upload] = content
            while len(self._sets) > 1 and sum(one.nbytes for one in self._sets.values()) > KEPT_BYTES:
                self._sets.popitem(last=False)


_KEPT = _KeptSets()
