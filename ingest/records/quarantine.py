"""Keeps the lines that became no event in the table ``watchfloor.quarantine``, until they become events.

Row = item identity (8 bytes) and the line's offset (8 bytes). Cell ``meta`` (JSON) says where the line stands and in
which state it is. What quotes the line has the visibility of all that the line may hold: cell ``reason``, and ``raw``
pieces of at most 1 MiB. Rows are keyed by the line's place in its file, so reading an item again writes the same rows.
A row is never deleted: when its line has become an event its raw bytes are blanked and ``state`` says why it is no
longer open:

- ``retried``: the line is an event by ``retry`` (``maintenance/retry.py``), counted under that retry's own identity.
  A worker that reads the whole item again leaves this line out, or it would be counted twice.
- ``cleared``: the whole item was read again, by other definitions, and the line is now one of its events.

How many lines are kept is bounded (``kept_lines.py``). One more row, at the offset of the first line that is not kept,
counts the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from watchfloor.ingest.files.lines import RejectedLine
from watchfloor.ingest.queue.item import ITEM_ID_BYTES, WorkItem
from watchfloor.schema.errors import UnknownLineError
from watchfloor.schema.files.paths import is_path_of, read_shown_path, show_path
from watchfloor.store.admin.tables import QUARANTINE_TABLE
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.ranges import Ranges, prefix_end
from watchfloor.store.store import Store

from .cells import Cells, Put, delete_cells, name_cell, put_cells, read_prefix, read_row, read_rows
from .kept_lines import UnkeptLines

PIECE_BYTES = 1 << 20
OPEN, RETRIED, CLEARED = "open", "retried", "cleared"
_META_ONLY = ServerIterator(30, "meta", "org.apache.accumulo.core.iterators.user.RegExFilter", {"colqRegex": "meta"})


@dataclass(frozen=True)
class QuarantinedLine:
    """One line in quarantine.

    ``whole`` is false if ``raw`` is only the beginning of the line, which then cannot be retried. ``claim`` names the
    retry that has claimed the line, if any (``maintenance/retry.py``). ``visibility`` is that of ``raw`` and
    ``reason``; for a reader without its labels they are empty and ``is_hidden`` is true. ``lines`` is more than 1 for a
    row that counts lines which are not kept.
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
    visibility: str = ""
    is_hidden: bool = False
    lines: int = 1

    @property
    def key(self) -> str:
        """The name of the line for people: ``ITEM:OFFSET``."""
        return f"{self.item_id.hex()}:{self.offset}"


class Quarantine:
    """Reads and writes the table of quarantined lines; writes are durable after the sink's ``flush``.

    ``table`` is its own table, or a clone of it to read. Raises ``StoreError``.
    """

    def __init__(self, store: Store, table: str = QUARANTINE_TABLE) -> None:
        self._store, self._table = store, table

    def put_lines(
        self,
        sink: EntrySink,
        item: WorkItem,
        rejected: Iterable[RejectedLine],
        cut: Iterable[RejectedLine],
        visibility: str,
    ) -> None:
        """Puts lines of an item in quarantine. Those also in ``cut`` are not whole."""
        not_whole = {r.offset for r in cut}
        self._put(sink, (_make_line(item, r, visibility, whole=r.offset not in not_whole) for r in rejected))

    def put_unkept(self, sink: EntrySink, item: WorkItem, unkept: UnkeptLines, visibility: str) -> None:
        """Puts the row in quarantine that counts the lines which are not kept."""
        rejected = replace(unkept.first, reason=unkept.reason)
        line = _make_line(item, rejected, visibility, whole=False)
        self._put(sink, [replace(line, lines=unkept.count)])

    def close_lines(self, sink: EntrySink, lines: Iterable[QuarantinedLine], state: str) -> None:
        """Closes lines: their raw bytes are blanked, the rest stays as a record."""
        for visibility, some in _group_by_visibility(lines).items():
            blank = ((row, qualifier, b"") for line in some for row, qualifier in _raw_keys(line))
            put_cells(sink, self._table, blank, visibility)
            put_cells(sink, self._table, (_meta_cell(replace(line, state=state, raw=b"")) for line in some))

    def remove_texts(self, sink: EntrySink, lines: Iterable[QuarantinedLine]) -> None:
        """Removes the reasons and raw bytes of lines that are about to be put again with another visibility."""
        for visibility, some in _group_by_visibility(lines).items():
            keys = [key for line in some for key in ((_row_of(line), "reason"), *_raw_keys(line))]
            delete_cells(sink, self._table, keys, visibility)

    def claim_lines(self, sink: EntrySink, lines: Iterable[QuarantinedLine], claim: str) -> None:
        """Records durably that the retry ``claim`` has claimed the lines; an empty ``claim`` releases them."""
        put_cells(sink, self._table, [_meta_cell(replace(line, claim=claim)) for line in lines])
        sink.flush()

    def lines_of_item(self, item_id: bytes) -> Iterator[QuarantinedLine]:
        """Reads all rows of an item, closed ones too, in the order of the file."""
        for row, cells in read_prefix(self._store, self._table, item_id):
            yield _line_of_cells(row, cells)

    def open_lines(self, path: str | None = None, item_id: bytes | None = None) -> Iterator[QuarantinedLine]:
        """Reads the lines in quarantine: all, or those of one item or of the file that ``path`` names."""
        ranges = [(item_id, prefix_end(item_id))] if item_id else [(b"", None)]
        for row, cells in read_rows(self._store, self._table, ranges):
            line = _line_of_cells(row, cells)
            if line.state == OPEN and (path is None or is_path_of(path, line.path)):
                yield line

    def settled_claims(self) -> dict[bytes, bytes]:
        """Returns the claims whose events are written completely, each with its item's identity.

        At least one line of such a claim is marked ``retried``.
        """
        everything = Ranges.everything()
        claims: dict[bytes, bytes] = {}
        for batch in self._store.scan(EntryScan(self._table, everything, [_META_ONLY], ordered=False)):
            rows, metas = (batch.column(name).to_pylist() for name in ("row", "value"))
            for row, meta in zip(rows, map(orjson.loads, metas), strict=True):
                if meta["state"] == RETRIED:
                    claims[bytes.fromhex(meta["claim"])] = row[:ITEM_ID_BYTES]
        return claims

    def find_line(self, key: str) -> QuarantinedLine:
        """Returns the line named ``ITEM:OFFSET`` as ``list`` prints it. Raises ``UnknownLineError``."""
        item, _, offset = key.partition(":")
        try:
            row = _row_of_line(bytes.fromhex(item), int(offset))
        except (ValueError, OverflowError):
            raise UnknownLineError(
                f"{key!r} names no quarantined line; it should look like 0123456789abcdef:42"
            ) from None
        cells = read_row(self._store, self._table, row)
        if not cells:
            raise refuse_line(key)
        return _line_of_cells(row, cells)

    def _put(self, sink: EntrySink, lines: Iterable[QuarantinedLine]) -> None:
        """Hands the cells of lines to a sink."""
        for visibility, some in _group_by_visibility(lines).items():
            put_cells(sink, self._table, (cell for line in some for cell in _text_cells(line)), visibility)
            put_cells(sink, self._table, map(_meta_cell, some))


def refuse_line(key: str) -> UnknownLineError:
    """Returns the error of a line that is not there, or of which the one who asks must not know."""
    return UnknownLineError(f"no quarantined line {key}; see `watchfloor quarantine list`")


def _group_by_visibility(lines: Iterable[QuarantinedLine]) -> dict[str, list[QuarantinedLine]]:
    found: dict[str, list[QuarantinedLine]] = defaultdict(list)
    for line in lines:
        found[line.visibility].append(line)
    return found


def _make_line(item: WorkItem, rejected: RejectedLine, visibility: str, *, whole: bool) -> QuarantinedLine:
    """Returns a rejected line of an item as it goes into quarantine."""
    return QuarantinedLine(
        item.item_id,
        rejected.offset,
        item.log_path,
        item.file_id,
        item.feed,
        rejected.reason,
        rejected.raw,
        whole,
        visibility=visibility,
    )


def _row_of(line: QuarantinedLine) -> bytes:
    return _row_of_line(line.item_id, line.offset)


def _row_of_line(item_id: bytes, offset: int) -> bytes:
    if len(item_id) != ITEM_ID_BYTES:
        raise ValueError("an item identity has 8 bytes")
    return item_id + offset.to_bytes(8, "big")


def _raw_keys(line: QuarantinedLine) -> list[tuple[bytes, str]]:
    """Returns row and qualifier of the cells with the line's bytes."""
    return [(_row_of(line), f"raw{number:06d}") for number, _ in enumerate(_split_raw(line.raw))]


def _text_cells(line: QuarantinedLine) -> Iterator[Put]:
    """Yields the cells that quote the line."""
    yield _row_of(line), "reason", line.reason.encode("utf-8", "replace")
    for (row, qualifier), piece in zip(_raw_keys(line), _split_raw(line.raw), strict=True):
        yield row, qualifier, piece


def _split_raw(raw: bytes) -> list[bytes]:
    return [raw[at : at + PIECE_BYTES] for at in range(0, len(raw), PIECE_BYTES)]


def _meta_cell(line: QuarantinedLine) -> Put:
    """Returns the cell that everybody may see who may read the table."""
    fields: dict[str, Any] = {
        "path": show_path(line.path),
        "file_id": line.file_id.hex(),
        "feed": line.feed,
        "pieces": len(_split_raw(line.raw)),
        "whole": line.whole,
        "state": line.state,
    }
    if line.claim:
        fields["claim"] = line.claim
    if line.visibility:
        fields["visibility"] = line.visibility
    if line.lines > 1:
        fields["lines"] = line.lines
    return _row_of(line), "meta", orjson.dumps(fields)


def _line_of_cells(row: bytes, cells: Cells) -> QuarantinedLine:
    meta = orjson.loads(cells["meta"])
    visibility = meta.get("visibility", "")
    names = (name_cell(f"raw{number:06d}", visibility) for number in range(meta["pieces"]))
    reason = cells.get(name_cell("reason", visibility))
    if reason is None and "reason" in meta:  # written before reasons had cells of their own
        reason = meta["reason"].encode()
    return QuarantinedLine(
        item_id=row[:ITEM_ID_BYTES],
        offset=int.from_bytes(row[ITEM_ID_BYTES:], "big"),
        path=read_shown_path(meta["path"]),
        file_id=bytes.fromhex(meta["file_id"]),
        feed=meta["feed"],
        reason="" if reason is None else reason.decode(),
        raw=b"".join(cells.get(name, b"") for name in names),
        whole=meta["whole"],
        state=meta["state"],
        claim=meta.get("claim", ""),
        visibility=visibility,
        is_hidden=reason is None,
        lines=meta.get("lines", 1),
    )
