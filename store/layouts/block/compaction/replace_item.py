"""Puts the events of an item that was read again in the place of those of earlier readings, at one moment.

If nothing of the item was replaced before, and the definition is the same, the new blocks have the names of the old
ones: they are simply written again. Otherwise the item's own blocks, and the merged blocks that have events of it, are
replaced in an epoch (``docs/compaction.md``). The item's own blocks are found by the item's tag in their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.keys import SHARD_BYTES
from watchfloor.store.layout import SweepGuard, TableWrite
from watchfloor.store.layouts.block.blocks.block_keys import BLOCK_ROW_BYTES, read_epochs, read_tags
from watchfloor.store.layouts.block.blocks.block_writes import BLOCK_ROWS
from watchfloor.store.layouts.block.blocks.stored_blocks import list_block_rows, read_blocks
from watchfloor.store.layouts.block.epochs.block_view import BlockView, read_view
from watchfloor.store.layouts.block.epochs.epochs import EpochAbortedError, EpochWriter
from watchfloor.store.layouts.block.vectors.vector import decode_binary
from watchfloor.store.store import Store

from .merge import ItemOrigin, has_events_of, put_write, write_merged

_AT_ONCE = 16
"""Number of blocks that are read together."""
_PATIENCE = 20.0
"""Seconds that another process's epoch may take before it is aborted."""
_TRIES = 100
"""A try fails only if another process has begun an epoch, or has aborted this one's."""


@dataclass(frozen=True)
class NewBlocks:
    """The blocks of the new reading: their ``rows`` if they are written as those of a first reading are.

    ``make_writes`` returns the entries of the same events as blocks that are born in an epoch.
    """

    rows: set[bytes]
    make_writes: Callable[[int], Iterable[TableWrite]]


def replace_item(store: Store, source: Source, origin: ItemOrigin, new: NewBlocks, guard: SweepGuard) -> bool:
    """Replaces all events of an item by those of ``new``, durably; a reader sees either the old or the new ones.

    Returns false, and has done nothing, if there is nothing to replace: the blocks ``new.rows`` may be written as they
    are, over those of them that are there. Raises ``StoreError``, and what ``guard`` raises.
    """
    store, source = _see_all_of(store, source)
    epochs = EpochWriter(store, source)
    # A process that has begun an epoch before now may be merging blocks of the item. A process that begins an epoch
    # from now on sees in the ledger that the item is being read, and does not merge the item's blocks.
    state = epochs.read_state()
    if not state.owner and _find_blocks(store, source, origin, guard).can_be_overwritten(new.rows):
        return False
    for _ in range(_TRIES):
        mine = epochs.begin_epoch(epochs.await_turn(_PATIENCE, guard.report))
        if mine is None:
            continue
        try:
            store, source = _see_all_of(store, source)
            found = _find_blocks(store, source, origin, guard)
            _write_epoch(store, source, origin, found, new, mine.begun, guard)
            # A worker that has lost the item may still write blocks of these names, which nobody must see.
            epochs.list_replaced(mine, found.own | found.merged | new.rows)
            # A worker that takes the item over after this aborts the epoch, or waits for its end.
            guard.confirm()
            epochs.commit_epoch()
            return True
        except EpochAbortedError:
            continue
        except BaseException:
            epochs.abort_epoch()
            raise
    raise StoreError(f"others are changing the blocks of {source.name} all the time; try again")


@dataclass(frozen=True)
class _StoredBlocks:
    """The rows of the blocks that an item wrote, seen or not, and of the seen merged blocks that have events of it."""

    view: BlockView
    own: set[bytes]
    merged: set[bytes]

    def can_be_overwritten(self, rows: set[bytes]) -> bool:
        """Returns whether nothing has to vanish, and none of ``rows`` is the name of a block that was replaced."""
        return not self.merged and self.own <= rows and (not rows or self.view.find_seen_rows(_to_array(rows)) is None)


def _see_all_of(store: Store, source: Source) -> tuple[Store, Source]:
    """Returns the current definition and a store that sees all its labels: unseen values would be lost."""
    source = store.catalog.read_sources()[source.name]
    return store.seeing_all_of(source), source


def _to_array(rows: Iterable[bytes]) -> pa.BinaryArray:
    return pa.array(sorted(rows), pa.binary())


def _find_blocks(store: Store, source: Source, origin: ItemOrigin, guard: SweepGuard) -> _StoredBlocks:
    """Finds the blocks that have events of an item."""
    view = read_view(store, source.name)
    tag, file_id = np.frombuffer(origin.tag, np.uint8), pa.scalar(origin.file_id, pa.binary())
    own: list[bytes] = []
    merged: list[bytes] = []
    for rows, files in list_block_rows(store, source):
        guard.report()
        keys = to_byte_rows(rows, BLOCK_ROW_BYTES)[:, SHARD_BYTES:]
        seen = view.find_seen_rows(rows)
        epochs = read_epochs(keys)
        candidates = (epochs > 0) if seen is None else (epochs > 0) & seen
        for found, which in ((own, (read_tags(keys) == tag).all(axis=1)), (merged, candidates)):
            for place in np.flatnonzero(which).tolist():
                # Blocks of other items may have the same tag by chance, but hardly ever blocks of the same file.
                if file_id in decode_binary(files[place].as_buffer()).unique():
                    found.append(rows[place].as_py())
    holding: set[bytes] = set()
    for start in range(0, len(merged), _AT_ONCE):
        guard.report()
        blocks = read_blocks(store, source, merged[start : start + _AT_ONCE])
        holding.update(row for row, cells in blocks.items() if has_events_of(origin, row, cells))
    view.check_still_right(store, source.name)
    return _StoredBlocks(view, set(own), holding)


def _write_epoch(
    store: Store,
    source: Source,
    origin: ItemOrigin,
    found: _StoredBlocks,
    new: NewBlocks,
    epoch: int,
    guard: SweepGuard,
) -> None:
    """Writes the blocks of an epoch durably: the item's new ones, and the merged ones without the item's events."""
    with store.sink() as sink:
        for write in new.make_writes(epoch):
            guard.report()
            put_write(sink, write)
        for row in sorted(found.merged):
            guard.report()
            write_merged(sink, source, read_blocks(store, source, [row]), epoch, BLOCK_ROWS, without=origin)
        sink.flush()
