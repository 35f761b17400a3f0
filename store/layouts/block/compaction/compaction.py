"""Compaction: small blocks of closed days become full ones, while queries and ingest go on (``docs/compaction.md``).

    list the blocks ─▶ plan groups ─▶ for each round: begin an epoch ─▶ write merged blocks ─▶ list replaced blocks
        ─▶ commit ─▶ … ─▶ after the grace: delete the replaced blocks

Blocks that were written before a field was indexed can be written anew too, so that the index then covers all events.

A compaction may be interrupted at any point. Blocks of an epoch that was not committed are never seen, and the next run
removes them. If the epoch was committed, the next run deletes the blocks that it replaced.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.coverage import has_partial_index
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import SOURCES_TABLE
from watchfloor.store.layouts.block.blocks.block_keys import is_merged, read_item_tag
from watchfloor.store.layouts.block.blocks.block_writes import BLOCK_ROWS
from watchfloor.store.layouts.block.blocks.stored_blocks import group_by_labels, read_blocks, remove_blocks
from watchfloor.store.layouts.block.epochs.block_view import DIED_FAMILY, EPOCH_BYTES, EpochState, read_epochs_of_names
from watchfloor.store.layouts.block.epochs.epochs import EpochAbortedError, EpochWriter
from watchfloor.store.store import Store

from .merge import write_merged
from .merge_plan import BlockListing, MergeGroup, cut_into_rounds, list_blocks, plan_merges

PATIENCE = 120.0
"""Seconds that an epoch of another process may take before it is aborted."""
_DELETED_AT_ONCE = 1024

ReportStep = Callable[[str], None]
"""Called with the name of each step that was done."""
ListSettledTags = Callable[[], set[bytes]]
"""Returns the tags of the work items whose blocks may be merged now: no worker is writing them."""


@dataclass(frozen=True)
class CompactionResult:
    """Numbers of blocks ``before`` and ``after``, and of ``events`` that moved to other blocks in ``rounds`` epochs.

    ``lacking`` is the number of blocks that still lack index entries, because their work items are not done.
    """

    before: int
    after: int
    events: int
    rounds: int
    seconds: float
    lacking: int = 0


def compact_blocks(
    store: Store,
    source: Source,
    settled: ListSettledTags,
    closed: int,
    block_rows: int = BLOCK_ROWS,
    step: ReportStep = lambda done: None,
    index: bool = False,
) -> CompactionResult:
    """Merges the small blocks of all days that ended before ``closed`` (µs), until nothing is left to merge.

    With ``index``, if an index does not cover all events, all blocks are written anew, so that it covers them unless
    there are work items that are not done. ``closed`` does not matter for these. Returns when the replaced blocks are
    deleted, which is not before ``store.grace`` is over. Raises ``StoreError``.
    """
    return _Compaction(store, source, settled, closed, block_rows, step, index).run()


class _Compaction:
    """One run of ``compact_blocks``."""

    def __init__(
        self,
        store: Store,
        source: Source,
        settled: ListSettledTags,
        closed: int,
        block_rows: int,
        step: ReportStep,
        index: bool,
    ) -> None:
        self._store, self._source, self._settled = store, source, settled
        self._closed, self._block_rows, self._step = closed, block_rows, step
        self._epochs = EpochWriter(store, source)
        self._index, self._lacking = index, frozenset[bytes]()
        """Rows of blocks that existed when the index was defined, and may lack its entries."""
        self._due: deque[tuple[int, float]] = deque()
        """Epochs, each with the time (monotonic clock) from which the blocks that it replaced may be deleted."""

    def run(self) -> CompactionResult:
        """Merges until nothing is left to merge, and deletes the replaced blocks when their grace is over."""
        began, before, events, rounds = time.monotonic(), -1, 0, 0
        self._note_dead(self._epochs.await_turn(PATIENCE))
        self._read_definition()
        self._empty_lists()
        defined = self._source
        while True:
            # In this order: a process that begins an epoch after ``await_turn`` reads a definition that is at least as
            # new as ``defined``.
            self._epochs.await_turn(PATIENCE)
            self._read_definition()
            listing = list_blocks(self._store, self._source)
            self._remove_aborted(listing)
            seen = int(listing.seen.sum())
            there = frozenset(row.tobytes() for row in listing.rows[listing.seen]) if self._index else frozenset()
            if before < 0:
                before, self._lacking = seen, there if has_partial_index(defined) else frozenset()
            self._lacking &= there
            groups = plan_merges(listing, self._settled(), self._closed, self._block_rows, self._lacking)
            if not groups:
                break
            state = listing.view.state
            for batch in cut_into_rounds(groups, self._block_rows):
                committed = self._run_round(state, batch)
                if committed is None:
                    break  # Another process has changed the blocks: list and plan them again.
                state, moved = committed
                events, rounds = events + moved, rounds + 1
                self._delete_dead()
        while self._due:
            self._step("waiting")
            time.sleep(max(0.0, self._due[-1][1] - time.monotonic()))
            self._delete_dead()
        if self._index and not self._lacking:
            self._store.catalog.complete_indexes(defined)
        return CompactionResult(before, seen, events, rounds, time.monotonic() - began, len(self._lacking))

    def _run_round(self, state: EpochState, groups: Sequence[MergeGroup]) -> tuple[EpochState, int] | None:
        """Runs one epoch. Returns the state after it and the moved events; None if others have changed the blocks."""
        mine = self._epochs.begin_epoch(state)
        if mine is None:
            return None
        try:
            self._step("begun")
            self._read_definition()
            # Read once more: a worker that reads an item again from now on sees that an epoch has begun.
            settled = self._settled()
            replaced: list[bytes] = []
            events = 0
            with self._store.sink() as sink:
                for group in groups:
                    rows = [row for row in group.rows if is_merged(row) or read_item_tag(row) in settled]
                    for blocks in group_by_labels(read_blocks(self._store, self._source, rows)):
                        if len(blocks) > 1 or not self._lacking.isdisjoint(blocks):
                            events += write_merged(sink, self._source, blocks, mine.begun, self._block_rows, None)
                            replaced += blocks
                    self._step("written")
            self._epochs.list_replaced(mine, replaced)
            self._step("listed")
            committed = self._epochs.commit_epoch()
        except EpochAbortedError:
            return None
        except BaseException:
            self._epochs.abort_epoch()
            raise
        self._note_dead(committed)
        self._step("committed")
        return committed, events

    def _read_definition(self) -> None:
        """Reads the current definition and sees all its labels: merging would lose the values of unseen fields."""
        self._source = self._store.catalog.read_sources()[self._source.name]
        self._store = self._store.seeing_all_of(self._source)

    def _note_dead(self, state: EpochState) -> None:
        """Notes that replaced blocks are to be deleted. Their grace begins now, because hosts' clocks may differ."""
        if state.epoch > state.horizon:
            self._due.append((state.epoch, time.monotonic() + self._store.grace))

    def _delete_dead(self) -> None:
        """Deletes the blocks that were replaced by epochs whose grace is over."""
        horizon = 0
        while self._due and self._due[0][1] <= time.monotonic():
            horizon, _ = self._due.popleft()
        if horizon:
            self._epochs.pass_horizon(horizon)
            self._step("horizon")
            self._empty_lists()

    def _empty_lists(self) -> None:
        """Deletes the blocks up to the horizon that are still listed as replaced, and then their names in the list."""
        state, entries = self._epochs.read_state(), self._store.read_catalog_row(self._source.name).entries
        names = entries.column("qualifier").filter(pc.equal(entries.column("family"), DIED_FAMILY))
        epochs = read_epochs_of_names(names)
        # Blocks that an aborted epoch was to replace stay.
        aborted = np.isin(epochs, state.aborted)
        names = names.filter(pa.array(aborted | (epochs <= state.horizon)))
        alive = set(names.filter(pa.array(np.isin(read_epochs_of_names(names), state.aborted))).to_pylist())
        with self._store.sink() as sink:
            for start in range(0, len(names), _DELETED_AT_ONCE):
                some = names.slice(start, _DELETED_AT_ONCE)
                dead = [name[EPOCH_BYTES:] for name in some.to_pylist() if name not in alive]
                remove_blocks(self._store, self._source, dead)
                self._step("deleted")
                columns = {
                    "row": pa.array([self._source.name.encode()] * len(some), pa.binary()),
                    "family": pa.array([DIED_FAMILY] * len(some), pa.binary()),
                    "qualifier": some,
                }
                sink.delete_entries(SOURCES_TABLE, pa.RecordBatch.from_pydict(columns))
                sink.flush()

    def _remove_aborted(self, listing: BlockListing) -> None:
        """Deletes the blocks of aborted epochs, which are never seen."""
        rows = listing.rows[np.isin(listing.epochs, listing.view.state.aborted)]
        remove_blocks(self._store, self._source, [row.tobytes() for row in rows])
