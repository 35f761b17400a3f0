"""Plans which blocks are merged: small blocks of a closed day that are neighbours in time.

``list_blocks`` reads the store; all other functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from watchfloor.schema.source import Source
from watchfloor.store.encoding.byte_arrays import to_byte_rows
from watchfloor.store.encoding.keys import DAY, SHARD_BYTES
from watchfloor.store.layouts.block.blocks.block_keys import (
    BLOCK_ROW_BYTES,
    read_block_times,
    read_epochs,
    read_tags,
)
from watchfloor.store.layouts.block.blocks.stored_blocks import list_block_rows
from watchfloor.store.layouts.block.epochs.block_view import BlockView, read_view
from watchfloor.store.layouts.block.vectors.vector import count_rows_of_each
from watchfloor.store.reader import Reader

SMALL_SHARE = 1 / 2
"""A block with less than this share of ``block_rows`` events is small."""
GROUP_FULL, GROUP_BLOCKS = 16, 2048
"""Limits of one group, which must fit into memory: number of events, in full blocks, and number of blocks."""
ROUND_FULL, ROUND_BLOCKS = 64, 4096
"""Limits of one epoch: number of events, in full blocks, and number of blocks."""


@dataclass(frozen=True)
class BlockListing:
    """The blocks of a source: ``rows`` (n, 24) bytes, the number of ``events`` of each, and whether it is ``seen``."""

    view: BlockView
    rows: np.ndarray
    events: np.ndarray
    seen: np.ndarray

    @property
    def epochs(self) -> np.ndarray:
        """The epoch in which each block was made, int64; 0 for blocks that ingest wrote."""
        return read_epochs(self.rows[:, SHARD_BYTES:])


@dataclass(frozen=True)
class MergeGroup:
    """Blocks of one day that are merged, and the number of all their events."""

    rows: list[bytes]
    events: int


def list_blocks(reader: Reader, source: Source) -> BlockListing:
    """Lists all blocks of a source and which of them are seen now."""
    view = read_view(reader, source.name)
    rows, events, seen = [], [], []
    for names, files in list_block_rows(reader, source):
        rows.append(to_byte_rows(names, BLOCK_ROW_BYTES))
        events.append(count_rows_of_each(files))
        which = view.find_seen_rows(names)
        seen.append(np.ones(len(names), bool) if which is None else which)
    if not rows:
        return BlockListing(view, np.empty((0, BLOCK_ROW_BYTES), np.uint8), np.empty(0, np.int64), np.empty(0, bool))
    return BlockListing(view, np.concatenate(rows), np.concatenate(events), np.concatenate(seen))


def plan_merges(
    listing: BlockListing, settled: set[bytes], closed: int, block_rows: int, lacking: frozenset[bytes] = frozenset()
) -> list[MergeGroup]:
    """Returns groups of two and more small blocks of days that ended before ``closed`` (µs).

    A block from ingest takes part if its work item's tag is in ``settled``. A group becomes fewer blocks, at most one
    of them small; so nothing is done for a day with one small block. The blocks that are ``lacking`` index entries are
    in groups too, however large or young they are, and also alone.
    """
    keys = np.ascontiguousarray(listing.rows[:, SHARD_BYTES:])
    newest, _ = read_block_times(keys)
    tags = np.ascontiguousarray(read_tags(keys)).view(">u4").reshape(-1)
    known = np.frombuffer(b"".join(settled), ">u4") if settled else np.empty(0, ">u4")
    fit = listing.seen & (listing.events < block_rows * SMALL_SHARE) & ((newest // DAY + 1) * DAY <= closed)
    named = np.array([row.tobytes() in lacking for row in listing.rows], bool) if lacking else np.zeros(len(fit), bool)
    fit |= listing.seen & named
    fit &= (listing.epochs > 0) | np.isin(tags, known)
    places = np.flatnonzero(fit)
    places = places[np.argsort(-newest[places], kind="stable")]
    days = newest[places] // DAY
    groups: list[MergeGroup] = []
    ends = [*(np.flatnonzero(np.diff(days)) + 1).tolist(), len(places)]
    for start, end in zip([0, *ends], ends, strict=False):
        for part in _cut_day(places[start:end], listing.events, GROUP_FULL * block_rows):
            if len(part) == 1 and not named[part[0]]:
                continue
            rows = [listing.rows[place].tobytes() for place in part.tolist()]
            groups.append(MergeGroup(rows, int(listing.events[part].sum())))
    return groups


def _cut_day(places: np.ndarray, events: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Cuts the blocks of a day into parts of at most ``most`` events and ``GROUP_BLOCKS`` blocks."""
    start, held = 0, 0
    for end, place in enumerate(places.tolist()):
        if end > start and (held + events[place] > most or end - start == GROUP_BLOCKS):
            yield places[start:end]
            start, held = end, 0
        held += int(events[place])
    if len(places) > start:
        yield places[start:]


def cut_into_rounds(groups: Sequence[MergeGroup], block_rows: int) -> Iterator[list[MergeGroup]]:
    """Yields for each epoch the groups that it merges."""
    batch: list[MergeGroup] = []
    blocks = events = 0
    for group in groups:
        if batch and (blocks + len(group.rows) > ROUND_BLOCKS or events + group.events > ROUND_FULL * block_rows):
            yield batch
            batch, blocks, events = [], 0, 0
        batch.append(group)
        blocks, events = blocks + len(group.rows), events + group.events
    if batch:
        yield batch
