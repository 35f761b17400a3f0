"""Sources that are held still for a moment, and their entries of whole work items, in both layouts.

Blocks that are replaced, by a compaction or by a second reading of an item, are replaced in epochs. While one is held
open no other is committed. In the cell layout nothing tells of which item an event is: such a source is only exported
while no item is being read into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import SOURCES_TABLE
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.store import Store

from .block.epochs.block_view import STATE, STATE_FAMILY, BlockView, EpochState, read_view
from .block.epochs.epochs import EpochAbortedError, EpochWriter
from .block.whole_blocks import MixedBlockError, keep_blocks, keep_hits, list_kept_blocks

Keep = Callable[[pa.RecordBatch], pa.RecordBatch]
"""Returns those entries of a batch that are exported."""


class UnsuitableMomentError(StoreError):
    """Raised when sources cannot be exported as they are at a moment, for a reason that passes."""


class HeldSources:
    """Holds an epoch of each source open that has blocks."""

    def __init__(self, store: Store, sources: Sequence[Source], patience: float) -> None:
        """Begins the epochs. An epoch of another process that is open for ``patience`` seconds is aborted."""
        self._epochs: list[EpochWriter] = []
        try:
            for source in sources:
                if source.layout == "block":
                    self._epochs.append(_begin_epoch(store, source, patience))
            self._views = {source.name: read_view(store, source.name) for source in sources}
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Aborts the epochs: what was read meanwhile is of no use."""
        for epoch in self._epochs:
            epoch.abort_epoch()

    def end(self) -> None:
        """Commits the epochs, which are empty. Raises ``UnsuitableMomentError`` if one was not held until now."""
        aborted = 0
        for epoch in self._epochs:
            try:
                epoch.commit_epoch()
            except EpochAbortedError:
                aborted += 1
        if aborted:
            raise UnsuitableMomentError("another process waited too long for the export: export fewer sources at once")

    def find_epoch(self, source: Source) -> int:
        """Returns the last epoch that was committed before this one."""
        return self._views[source.name].state.epoch

    def choose_entries(
        self, reader: Store, source: Source, clones: Mapping[str, str], items: pa.BinaryArray
    ) -> tuple[Keep, Keep]:
        """Returns what is kept of a source's event and index table: that of ``items``, the IDs of whole work items.

        ``clones`` names the tables' clones, which were made while the source was held. Raises
        ``UnsuitableMomentError``.
        """
        if not tells_items(source):
            return _keep_all, _keep_all
        view: BlockView = self._views[source.name]
        try:
            rows = list_kept_blocks(reader, clones[event_table(source)], view, items)
        except MixedBlockError:
            raise UnsuitableMomentError(
                f"an item of {source.name} was read again and has not ended, and its events are in merged blocks: see "
                "`watchfloor items --failed`, and load its file with --again"
            ) from None
        return keep_blocks(rows), keep_hits(rows)


def tells_items(source: Source) -> bool:
    """Returns whether the keys of a source's events tell of which work item they are."""
    return source.layout == "block"


def restore_epoch(store: Store, source: Source, epoch: int) -> None:
    """Makes the blocks visible that were merged in epochs up to ``epoch``, of a source that has no state yet."""
    if epoch:
        state = EpochState(epoch=epoch, begun=epoch, horizon=epoch)
        store.swap(SOURCES_TABLE, (source.name.encode(), STATE_FAMILY, STATE), None, state.to_json())


def _begin_epoch(store: Store, source: Source, patience: float) -> EpochWriter:
    writer = EpochWriter(store, source)
    while writer.begin_epoch(writer.await_turn(patience)) is None:
        pass
    return writer


def _keep_all(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch
