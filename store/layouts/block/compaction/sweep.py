"""Removes the blocks of an earlier reading of a work item that the last reading did not write again.

A reading makes the same blocks as the one before unless its events or the definition differ: a field was added, a
retry has taken lines on, or blocks were merged in between. The item's own blocks are found by the item's tag in their
rows. A block is removed after its index entries, so that an interrupted sweep can be repeated. Merged blocks with
events of the item are replaced by blocks without these events, in an epoch of the sweep (``docs/compaction.md``).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.keys import SHARD_BYTES
from watchfloor.store.layout import SweepGuard
from watchfloor.store.layouts.block.blocks.block_keys import BLOCK_ROW_BYTES, read_epochs, read_tags
from watchfloor.store.layouts.block.blocks.block_writes import BLOCK_ROWS
from watchfloor.store.layouts.block.blocks.stored_blocks import list_block_rows, read_blocks, remove_blocks
from watchfloor.store.layouts.block.epochs.block_view import read_view
from watchfloor.store.layouts.block.epochs.epochs import EpochAbortedError, EpochWriter
from watchfloor.store.layouts.block.vectors.vector import decode_binary
from watchfloor.store.store import Store

from .merge import ItemOrigin, has_events_of, write_merged

_AT_ONCE = 16
"""Number of blocks that are read together."""
_PATIENCE = 5.0
"""Seconds that a sweep waits for another process's epoch; if it waited longer, this worker would be taken for dead."""
_TRIES = 5


def sweep_item(store: Store, source: Source, origin: ItemOrigin, written: set[bytes], guard: SweepGuard) -> None:
    """Removes the item's blocks except those whose rows are in ``written``, also from merged blocks."""
    store, source = _see_all_of(store, source)
    epochs = EpochWriter(store, source)
    # A process that has begun an epoch before now may be merging blocks of the item. A process that begins an epoch
    # from now on sees in the ledger that the item is being read, and does not merge the item's blocks.
    state = epochs.read_state()
    own, merged = _find_blocks_of(store, source, origin, guard)
    if merged or state.owner:
        _replace_merged(store, source, origin, epochs, guard)
    # No block in ``own`` was written by a worker that has taken the item over.
    guard.confirm()
    remove_blocks(store, source, sorted(own - written))


def _see_all_of(store: Store, source: Source) -> tuple[Store, Source]:
    """Returns the current definition and a store that sees all its labels: unseen values would be lost."""
    source = store.catalog.read_sources()[source.name]
    return store.seeing_all_of(source), source


def _find_blocks_of(
    store: Store, source: Source, origin: ItemOrigin, guard: SweepGuard
) -> tuple[set[bytes], set[bytes]]:
    """Returns the blocks that the item wrote, and the merged blocks that are seen and have events of it."""
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
    return set(own), holding


def _replace_merged(store: Store, source: Source, origin: ItemOrigin, epochs: EpochWriter, guard: SweepGuard) -> None:
    """Replaces merged blocks that have events of an item by blocks without these events."""
    for _ in range(_TRIES):
        state = epochs.begin_epoch(epochs.await_turn(_PATIENCE))
        if state is None:
            continue
        try:
            store, source = _see_all_of(store, source)
            _, merged = _find_blocks_of(store, source, origin, guard)
            with store.sink() as sink:
                for row in sorted(merged):
                    guard.report()
                    blocks = read_blocks(store, source, [row])
                    write_merged(sink, source, blocks, state.begun, BLOCK_ROWS, without=origin)
            epochs.list_replaced(state, merged)
            # A worker that takes the item over after this aborts the epoch, or waits for its end.
            guard.confirm()
            epochs.commit_epoch()
            return
        except EpochAbortedError:
            continue
        except BaseException:
            epochs.abort_epoch()
            raise
    raise StoreError(f"others are changing the blocks of {source.name} all the time; try again")
