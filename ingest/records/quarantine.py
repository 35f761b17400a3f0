"""Keeps every line that became no event in the table ``watchfloor.quarantine``, until it becomes one.

Row = item identity (8 bytes) and the line's offset (8 bytes); cells ``meta`` (JSON) and ``raw`` pieces of at most 1
MiB. Rows are keyed by the line's place in its file, so reading an item again writes the same rows. A row is never
deleted: when its line has become an event its raw bytes are blanked and ``state`` says why it is no longer open:

- ``retried``: the line is an event by ``retry`` (``maintenance/retry.py``), counted under that retry's own identity.
  A worker that reads the whole item again leaves this line out, or it would be counted twice.
- ``cleared``: the whole item was read again, by other definitions, and the line is now one of its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from watchfloor.ingest.files.lines import RejectedLine
from watchfloor.ingest.queue.item import ITEM_ID_BYTES, WorkItem
from watchfloor.schema.errors import UserError
from watchfloor.store.admin.tables import QUARANTINE_TABLE
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.ranges import Ranges, prefix_end
from watchfloor.store.store import Store

from .cells import Cells, Put, put_cells, read_prefix, read_row, read_rows

PIECE_BYTES = 1 << 20
OPEN, RETRIED, CLEARED = "open", "retried", "cleared"
_META_ONLY = ServerIterator(30, "meta", "org.apache.accumulo.core.iterators.user.RegExFilter", {"colqRegex": "meta"})


@dataclass(frozen=True)
class QuarantinedLine:
    """One line in quarantine.

    ``whole`` is false if ``raw`` is only the beginning of the line, which then cannot be retried. ``claim`` names the
    retry that has claimed the line, if any (``maintenance/retry.py``).
    """

    item_id: bytes
    offset: int
    path: str
    file_id: bytes
    feed: str
    reason: str
    raw: bytes
    whole: bool = True
    state: str = OPEN
    claim: str = ""

    @property
    def key(self) -> str:
        """The name of the line for people: ``ITEM:OFFSET``."""
        return f"{self.item_id.hex()}:{self.offset}"


class Quarantine:
    """Reads and writes the table of quarantined lines; writes are durable after the sink's ``flush``.

    Raises ``StoreError``.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def put_lines(
        self, sink: EntrySink, item: WorkItem, rejected: Iterable[RejectedLine], cut: Iterable[RejectedLine]
    ) -> None:
        """Puts lines of an item in quarantine. Those also in ``cut`` are not whole."""
        not_whole = {r.offset for r in cut}
        lines = (
            QuarantinedLine(
                item.item_id, r.offset, item.path, item.file_id, item.feed, r.reason, r.raw, r.offset not in not_whole
            )
            for r in rejected
        )
        put_cells(sink, QUARANTINE_TABLE, (cell for line in lines for cell in _cells_of_line(line)))

    def close_lines(self, sink: EntrySink, lines: Iterable[QuarantinedLine], state: str) -> None:
        """Closes lines: their raw bytes are blanked, the rest stays as a record."""

        def cells() -> Iterator[Put]:
            for line in lines:
                yield from _cells_of_line(replace(line, state=state, raw=b""))
                for number, _ in enumerate(_split_raw(line.raw)):
                    yield _row_of_line(line.item_id, line.offset), f"raw{number:06d}", b""

        put_cells(sink, QUARANTINE_TABLE, cells())

    def claim_lines(self, sink: EntrySink, lines: Iterable[QuarantinedLine], claim: str) -> None:
        """Records durably that the retry ``claim`` has claimed the lines; an empty ``claim`` releases them."""
        puts = [
            (_row_of_line(line.item_id, line.offset), "meta", _meta_of_line(replace(line, claim=claim)))
            for line in lines
        ]
        put_cells(sink, QUARANTINE_TABLE, puts)
        sink.flush()

    def lines_of_item(self, item_id: bytes) -> Iterator[QuarantinedLine]:
        """Reads all rows of an item, closed ones too, in the order of the file."""
        for row, cells in read_prefix(self._store, QUARANTINE_TABLE, item_id):
            yield _line_of_cells(row, cells)

    def open_lines(self, path: str | None = None, item_id: bytes | None = None) -> Iterator[QuarantinedLine]:
        """Reads the lines in quarantine: all, or those of one file or item."""
        ranges = [(item_id, prefix_end(item_id))] if item_id else [(b"", None)]
        for row, cells in read_rows(self._store, QUARANTINE_TABLE, ranges):
            line = _line_of_cells(row, cells)
            if line.state == OPEN and (path is None or line.path == path):
                yield line

    def settled_claims(self) -> set[bytes]:
        """Returns the claims whose events are written completely: at least one line of each is marked ``retried``."""
        everything = Ranges()
        everything.add_rows(b"", None)
        claims: set[bytes] = set()
        for batch in self._store.scan(EntryScan(QUARANTINE_TABLE, everything, [_META_ONLY], ordered=False)):
            for meta in map(orjson.loads, batch.column("value").to_pylist()):
                if meta["state"] == RETRIED:
                    claims.add(bytes.fromhex(meta["claim"]))
        return claims

    def find_line(self, key: str) -> QuarantinedLine:
        """Returns the line named ``ITEM:OFFSET`` as ``list`` prints it. Raises ``UserError`` if there is none."""
        item, _, offset = key.partition(":")
        try:
            row = _row_of_line(bytes.fromhex(item), int(offset))
        except (ValueError, OverflowError):
            raise UserError(f"{key!r} names no quarantined line; it should look like 0123456789abcdef:42") from None
        cells = read_row(self._store, QUARANTINE_TABLE, row)
        if not cells:
            raise UserError(f"no quarantined line {key}; see `watchfloor quarantine list`")
        return _line_of_cells(row, cells)


def _row_of_line(item_id: bytes, offset: int) -> bytes:
    if len(item_id) != ITEM_ID_BYTES:
        raise ValueError("an item identity has 8 bytes")
    return item_id + offset.to_bytes(8, "big")


def _cells_of_line(line: QuarantinedLine) -> Iterator[Put]:
    row = _row_of_line(line.item_id, line.offset)
    yield row, "meta", _meta_of_line(line)
    for number, piece in enumerate(_split_raw(line.raw)):
        yield row, f"raw{number:06d}", piece


def _split_raw(raw: bytes) -> list[bytes]:
    return [raw[at : at + PIECE_BYTES] for at in range(0, len(raw), PIECE_BYTES)]


def _meta_of_line(line: QuarantinedLine) -> bytes:
    fields: dict[str, Any] = {
        # This path is for people. The item in the ledger keeps the exact bytes of a path that is not UTF-8.
        "path": line.path.encode("utf-8", "replace").decode(),
        "file_id": line.file_id.hex(),
        "feed": line.feed,
        "reason": line.reason.encode("utf-8", "replace").decode(),
        "pieces": len(_split_raw(line.raw)),
        "whole": line.whole,
        "state": line.state,
    }
    if line.claim:
        fields["claim"] = line.claim
    return orjson.dumps(fields)


def _line_of_cells(row: bytes, cells: Cells) -> QuarantinedLine:
    meta = orjson.loads(cells["meta"])
    raw = b"".join(cells.get(f"raw{number:06d}", b"") for number in range(meta["pieces"]))
    return QuarantinedLine(
        item_id=row[:ITEM_ID_BYTES],
        offset=int.from_bytes(row[ITEM_ID_BYTES:], "big"),
        path=meta["path"],
        file_id=bytes.fromhex(meta["file_id"]),
        feed=meta["feed"],
        reason=meta["reason"],
        raw=raw,
        whole=meta["whole"],
        state=meta["state"],
        claim=meta.get("claim", ""),
    )
