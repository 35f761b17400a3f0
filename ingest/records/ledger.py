"""The ledger has a row per work item in ``watchfloor.items``, and one per path that the master has seen.

An item's row has a cell for each event in its life, so that no writer overwrites another's cell: ``queued`` (the item
and its sender), ``run`` (the worker that reads it: attempt, progress) and ``end`` (the outcome). Its state is a
function of the three. Each cell has the ticket of the queueing that it belongs to. Rows of items start with ``i``, file
identity and item identity; rows of paths with ``p`` and the path; rows of long files (``long_files.py``) with ``n``, of
files that an earlier version has queued (``old_files.py``) with ``o``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from watchfloor.ingest.queue.item import BLAKE2B, FILE_ID_BYTES, WorkItem
from watchfloor.schema.files.paths import show_path
from watchfloor.store.admin.tables import ITEMS_TABLE, delete_rows
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.ranges import prefix_end
from watchfloor.store.runtime.process_identity import name_this_process
from watchfloor.store.store import Store

from .cells import Cells, put_cells, read_prefix, read_row, read_rows

STATES = ("queued", "running", "done", "failed", "refused")
OPEN_STATES = ("queued", "running")
"""The states of items that still need a message in the queue: a worker that reads one may die."""
_ITEM, _PATH = b"i", b"p"


@dataclass(frozen=True)
class ItemRun:
    """A worker's attempt at the item.

    ``at`` is the epoch seconds of its last sign of life, 0 after it gave the item back. ``claim`` is a random name of
    the act of taking the item, which no other attempt has; empty in rows of earlier versions. ``missed`` says of each
    host that could not open the item's file why.
    """

    ticket: str
    attempt: int
    at: float
    by: str
    bytes: int = 0
    events: int = 0
    quarantined: int = 0
    claim: str = ""
    missed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ItemEnd:
    """The end of an item: ``state`` is done or failed. ``events`` are without the ``retried`` ones.

    ``claim`` is that of the attempt that has ended. ``misfits`` counts, by source and field, the events whose value for
    the field is not of its type and is kept in ``extra``; lines that were retried do not count there. ``content`` is
    the hash of the bytes that were read, as hex, where the item says nothing of them (``queue/item.py``: ``DRAWN``).
    """

    ticket: str
    state: str
    at: float
    by: str
    events: int = 0
    quarantined: int = 0
    retried: int = 0
    entries: int = 0
    seconds: float = 0.0
    reason: str = ""
    claim: str = ""
    misfits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    content: str = ""

    def is_final(self, item: WorkItem) -> bool:
        """Returns whether this is the end of an item too that may have been queued again since."""
        return self.ticket == item.ticket or (self.state == "done" and not item.again and self.has_bytes_of(item))

    def has_bytes_of(self, item: WorkItem) -> bool:
        """Returns whether the bytes that were read are those of an item, as far as that says which it has."""
        return item.content in ("", self.content)


@dataclass(frozen=True)
class LedgerRow:
    """The state of one work item, or of one refused file (then ``item`` is None).

    ``topic`` is the one on which the item was queued; empty in rows of earlier versions.
    """

    state: str
    path: str
    at: float
    by: str
    item: WorkItem | None = None
    run: ItemRun | None = None
    end: ItemEnd | None = None
    reason: str = ""
    topic: str = ""

    @property
    def item_id(self) -> str:
        return self.item.item_id.hex() if self.item else ""

    def is_done_as(self, item: WorkItem) -> bool:
        """Returns whether the item is done, with the bytes that ``item`` has."""
        return self.state == "done" and self.end is not None and self.end.has_bytes_of(item)

    @property
    def events(self) -> int:
        """The events in the store, retried lines included; of a running item those so far."""
        if self.end and self.state in ("done", "failed"):
            return self.end.events + self.end.retried
        return self.run.events if self.run and self.state == "running" else 0

    @property
    def quarantined(self) -> int:
        """The lines in quarantine; of a running item those so far."""
        if self.end and self.state in ("done", "failed"):
            return self.end.quarantined
        return self.run.quarantined if self.run and self.state == "running" else 0

    @property
    def lines(self) -> int:
        return self.events + self.quarantined

    @property
    def entries(self) -> int:
        return self.end.entries if self.end and self.state == "done" else 0

    @property
    def misfits(self) -> Mapping[str, Mapping[str, int]]:
        """The events without a value that is not of its field's type, by source and field (``ItemEnd``)."""
        return self.end.misfits if self.end and self.state == "done" else {}

    @property
    def attempts(self) -> int:
        return self.run.attempt if self.run else 0

    @property
    def progress(self) -> int:
        """The bytes of the item's range that were read."""
        if self.item is None or self.state in ("queued", "refused"):
            return 0
        return self.item.end - self.item.start if self.state == "done" else self.run.bytes if self.run else 0


@dataclass(frozen=True)
class BegunQueueing:
    """A state of a file whose items a master is about to queue: its first ``size`` bytes, cut by ``split``.

    ``turn`` is a random name of the act, ``digest`` the hash that gives ``file_id``.
    """

    file_id: str
    size: int
    split: int
    feed: str
    turn: str
    digest: str = BLAKE2B


@dataclass(frozen=True)
class SeenFile:
    """A path as the master or a load has last seen it: ``state`` is queued or refused (with the reason).

    ``begun`` is what a master has begun to queue since, and has not ended, or has died in. ``digest`` is the hash that
    gives ``file_id``; rows of before there was a choice have BLAKE2b.
    """

    path: str
    size: int
    mtime_ns: int
    state: str
    at: float
    by: str
    reason: str = ""
    feed: str = ""
    file_id: str = ""
    length: int = 0
    begun: BegunQueueing | None = None
    digest: str = BLAKE2B


class Ledger:
    """Reads and writes the ledger. Every write is durable when it returns. Raises ``StoreError``.

    ``table`` is the ledger's own table, or a clone of it to read.
    """

    def __init__(self, store: Store, table: str = ITEMS_TABLE) -> None:
        self._store, self._table = store, table
        self._sink: EntrySink | None = None

    def read_item(self, item: WorkItem) -> LedgerRow | None:
        """Returns the row of an item; None if there is none."""
        return item_row(read_row(self._store, self._table, item_key(item)))

    def read_files(self, file_ids: Iterable[bytes]) -> Iterator[LedgerRow]:
        """Reads the items of files, file by file."""
        ranges = [(_ITEM + file_id, prefix_end(_ITEM + file_id)) for file_id in file_ids]
        return _item_rows(read_rows(self._store, self._table, ranges))

    def read_rows(self, states: Sequence[str] = STATES) -> Iterator[LedgerRow]:
        """Reads all items, and refused files, that are in one of ``states``."""
        for row in _item_rows(read_prefix(self._store, self._table, _ITEM)):
            if row.state in states:
                yield row
        if "refused" in states:
            for _, cells in read_prefix(self._store, self._table, _PATH):
                seen = _seen_file(cells)
                if seen and seen.state == "refused":
                    yield LedgerRow("refused", seen.path, seen.at, seen.by, reason=seen.reason)

    def read_seen(self, path: str) -> SeenFile | None:
        """Returns the state in which a path was last seen; None if it was never seen."""
        return self.read_seen_cell(path)[0]

    def read_seen_cell(self, path: str) -> tuple[SeenFile | None, bytes | None]:
        """Returns the state in which a path was last seen, and the cell that says so, for ``swap_seen``."""
        cells = read_row(self._store, self._table, _path_key(path))
        return _seen_file(cells), cells.get("seen")

    def write_queued(self, items: Iterable[WorkItem], topic: str) -> None:
        """Records that items are about to be queued on ``topic``. Workers take no item that the ledger lacks."""
        now, by = time.time(), name_this_process()
        self._write_cells(
            (
                item_key(item),
                "queued",
                orjson.dumps({"at": now, "by": by, "topic": topic, "item": item.to_json().decode()}),
            )
            for item in items
        )

    def swap_run(self, item: WorkItem, expected: ItemRun | None, run: ItemRun) -> bool:
        """Writes the run of an item if the stored one is still ``expected``. Returns whether it did.

        A run changes in no other way, so that of two workers only one can take an item, and the other one notices.
        """
        old = None if expected is None else _dump_run(expected)
        return self._store.swap(self._table, (item_key(item), b"", b"run"), old, _dump_run(run))

    def write_end(self, item: WorkItem, end: ItemEnd) -> None:
        self._write_cells([(item_key(item), "end", _dump_end(end))])

    def write_end_of(self, item: WorkItem, run: ItemRun | None, end: ItemEnd) -> bool:
        """Writes the end of an item if the stored run is still ``run``; None: if there is none. Returns whether it did.

        So the end of a worker that stood still replaces no end of the worker that has taken the item over.
        """
        cell = (item_key(item), b"", b"run")
        old = None if run is None else _dump_run(run)
        return self._store.write_if(self._table, cell, old, b"end", _dump_end(end))

    def write_seen(self, seen: SeenFile) -> None:
        self._write_cells([(_path_key(seen.path), "seen", _dump_seen(seen)), _path_cell(seen)])

    def swap_seen(self, expected: bytes | None, seen: SeenFile) -> bytes | None:
        """Writes the state of a path if the stored cell is still ``expected``. Returns the new cell; None if not."""
        if expected is None:
            self._write_cells([_path_cell(seen)])
        cell = _dump_seen(seen)
        return cell if self._store.swap(self._table, (_path_key(seen.path), b"", b"seen"), expected, cell) else None

    def delete_items(self, items: Iterable[WorkItem]) -> None:
        """Deletes the rows of items and of their files, as if they had never come."""
        rows = {key for item in items for key in (item_key(item), _path_key(item.log_path))}
        if rows:
            delete_rows(self._store.connection, self._table, rows)

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()
            self._sink = None

    def _write_cells(self, puts: Iterable[tuple[bytes, str, bytes]]) -> None:
        if self._sink is None:
            self._sink = self._store.sink()
        put_cells(self._sink, self._table, puts)
        self._sink.flush()


def item_row(cells: Cells) -> LedgerRow | None:
    """Returns an item's row from its cells; None if none of them says what the item is."""
    queued = _read_json(cells, "queued")
    if queued is None:
        return None
    item = WorkItem.from_json(queued["item"].encode())
    run = ItemRun(**value) if (value := _read_json(cells, "run")) else None
    end = ItemEnd(**value) if (value := _read_json(cells, "end")) else None
    topic = queued.get("topic", "")
    # Two workers may have read the item, and the one that began later has not ended.
    lost = is_end_of_loser(run, end)
    begun = run is not None and end is not None and run.ticket != end.ticket and run.at > max(end.at, queued["at"])
    if end and not lost and not begun and end.is_final(item):
        return LedgerRow(end.state, item.log_path, end.at, end.by, item, run, end, end.reason, topic)
    over = run is not None and end is not None and run.ticket == end.ticket and not lost
    if run and run.at and not over and (run.ticket == item.ticket or run.at >= queued["at"]):
        return LedgerRow("running", item.log_path, run.at, run.by, item, run, end, "", topic)
    reason = describe_missed(item, run.missed) if run and run.ticket == item.ticket and run.missed else ""
    return LedgerRow("queued", item.log_path, queued["at"], queued["by"], item, run, end, reason, topic)


def is_end_of_loser(run: ItemRun | None, end: ItemEnd | None) -> bool:
    """Returns true if an end was written by a worker from which another one had taken the item over."""
    return run is not None and end is not None and run.claim != end.claim


def describe_missed(item: WorkItem, missed: Mapping[str, str]) -> str:
    """Returns a sentence about the hosts that could not open the file of an item, and why."""
    hosts = "; ".join(f"on {host}: {why}" for host, why in sorted(missed.items()))
    return f"{show_path(item.path)}: cannot be read {hosts}"


def _dump_run(run: ItemRun) -> bytes:
    # A run of an earlier version has no claim, and none of the fields that have come since.
    return orjson.dumps({name: value for name, value in vars(run).items() if name not in ("claim", "missed") or value})


def _dump_end(end: ItemEnd) -> bytes:
    return orjson.dumps(replace(end, reason=_make_encodable(end.reason)))


def _item_rows(found: Iterator[tuple[bytes, Cells]]) -> Iterator[LedgerRow]:
    for _, cells in found:
        row = item_row(cells)
        if row is not None:
            yield row


def _seen_file(cells: Cells) -> SeenFile | None:
    fields = _read_json(cells, "seen")
    if not fields:
        return None
    begun = BegunQueueing(**value) if (value := fields.get("begun")) else None
    return SeenFile(**{**fields, "path": os.fsdecode(cells.get("path", b"")), "begun": begun})


def _dump_seen(seen: SeenFile) -> bytes:
    return orjson.dumps({**vars(seen), "path": "", "reason": _make_encodable(seen.reason)})


def _path_cell(seen: SeenFile) -> tuple[bytes, str, bytes]:
    # A path's bytes need not be UTF-8, so JSON cannot hold it.
    return _path_key(seen.path), "path", os.fsencode(seen.path)


def _read_json(cells: Cells, qualifier: str) -> dict[str, Any] | None:
    return orjson.loads(cells[qualifier]) if qualifier in cells else None


def _make_encodable(text: str) -> str:
    """Returns a text as UTF-8 can hold it: an exception's own text may quote a path with other bytes."""
    return text.encode("utf-8", "backslashreplace").decode()


def item_key(item: WorkItem) -> bytes:
    """Returns the row of an item."""
    assert len(item.file_id) == FILE_ID_BYTES
    return _ITEM + item.file_id + item.item_id


def _path_key(path: str) -> bytes:
    return _PATH + os.fsencode(path)
