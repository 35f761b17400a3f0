"""The blocks of a source that one query sees while compaction replaces blocks (``docs/compaction.md``).

A source's row in the catalog has two families beside its definition: ``compaction`` holds the ``EpochState``, and
``died`` the names of the blocks that an epoch has replaced, until they are deleted. The names are written before the
state in which their epoch is committed, and by the order of keys they are read after the state: a reader that sees an
epoch as committed therefore sees the names of all blocks that it has replaced.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.store.encoding.byte_arrays import join_bytes, to_binary_array, to_byte_rows
from watchfloor.store.encoding.keys import SHARD_BYTES
from watchfloor.store.layouts.block.blocks.block_keys import BLOCK_ROW_BYTES, list_epochs, read_epochs
from watchfloor.store.reader import CatalogRow, Reader, Slot
from watchfloor.store.snapshot import FRESH_SHARE

SAFE_SHARE = 1 / 2
"""Share of the grace within which a view is right without another reading of the catalog."""
STATE_FAMILY, STATE, DIED_FAMILY = b"compaction", b"state", b"died"
EPOCH_BYTES = 4


@dataclass(frozen=True)
class EpochState:
    """The state of a source's epochs, as the catalog has it.

    ``epoch`` is the last committed epoch and ``begun`` the last epoch that was begun. ``owner`` is the process that has
    an epoch open; empty if none is. Blocks that were replaced by epochs up to ``horizon`` may be deleted by now. Blocks
    that ``aborted`` epochs have written are never seen.
    """

    epoch: int = 0
    begun: int = 0
    horizon: int = 0
    owner: str = ""
    aborted: tuple[int, ...] = ()

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> EpochState:
        fields = json.loads(text)
        return cls(**{**fields, "aborted": tuple(fields["aborted"])})


@dataclass
class BlockView:
    """The blocks that one query sees. ``died`` are the IDs (row, shard moved last) of blocks that it must not see."""

    state: EpochState = EpochState()
    died: pa.BinaryArray = field(default_factory=lambda: pa.array([], pa.binary()))
    read_at: float = field(default_factory=time.monotonic)
    """The start of reading the view, by the monotonic clock."""

    @property
    def age(self) -> float:
        """Seconds since the view was read."""
        return time.monotonic() - self.read_at

    def find_seen(self, ids: np.ndarray) -> np.ndarray | None:
        """Returns a boolean per block of ``ids``, (n, 24) bytes: whether the query sees it. None if it sees all."""
        epochs = read_epochs(ids)
        hidden = epochs > self.state.epoch
        if self.state.aborted and epochs.any():
            hidden |= np.isin(epochs, self.state.aborted)
        if len(self.died):
            hidden |= pc.is_in(to_binary_array(ids), value_set=self.died).to_numpy(zero_copy_only=False)
        return ~hidden if hidden.any() else None

    def sees_all(self, rows: bytes) -> bool:
        """Returns True if the query sees all blocks whose rows are joined in ``rows``, as soon as that can be told.

        A few blocks take less time than ``find_seen`` takes to begin. False says nothing.
        """
        if len(self.died) or len(rows) % BLOCK_ROW_BYTES:
            return False
        epoch, aborted = self.state.epoch, self.state.aborted
        return all(made <= epoch and made not in aborted for made in list_epochs(rows))

    def find_seen_rows(self, rows: pa.BinaryArray) -> np.ndarray | None:
        """Returns a boolean per block of ``rows``: whether the query sees it. None if it sees all."""
        return self.find_seen(np.roll(to_byte_rows(rows, BLOCK_ROW_BYTES), -SHARD_BYTES, axis=1))

    def make_options(self, low: bytes, high: bytes) -> dict[str, str | bytes]:
        """Returns the options by which tablet servers see the same blocks (Java's ``SeenBlocks``).

        ``low`` (inclusive) and ``high`` (exclusive) are the bounds of the keys of the blocks that are read.
        """
        options: dict[str, str | bytes] = {"epoch": str(self.state.epoch)}
        if self.state.aborted:
            options["aborted"] = ",".join(map(str, self.state.aborted))
        if len(self.died):
            inside = pc.and_(
                pc.greater_equal(self.died, pa.scalar(low, pa.binary())),
                pc.less(self.died, pa.scalar(high, pa.binary())),
            )
            died = to_byte_rows(self.died.filter(inside), BLOCK_ROW_BYTES)
            rows = np.roll(died, SHARD_BYTES, axis=1)
            options["died"] = b"".join(sorted(row.tobytes() for row in rows))
        return options

    def check_still_right(self, reader: Reader, name: str) -> None:
        """Raises ``StoreError`` if blocks of this view may have been deleted during a read that has just ended.

        Blocks that an epoch replaced are deleted when the grace after its commit is over. So a view that is younger
        than the grace is right. A view whose epoch is still the newest counts as new again. Any other view is right
        until the horizon passes its epoch.
        """
        if self.age < reader.grace * SAFE_SHARE:
            return
        now = time.monotonic()
        state = read_view(reader, name).state
        if state.horizon > self.state.epoch:
            raise StoreError(f"the blocks of {name} were compacted meanwhile, and this query took too long; ask again")
        if state.epoch == self.state.epoch:
            self.read_at = now


_VIEWS: Slot[dict[str, BlockView]] = Slot(dict)


def find_view(reader: Reader, source: Source) -> BlockView:
    """Returns the view by which a reader sees a source's blocks: seconds old at most, always the same in a snapshot."""
    views = reader.get_slot(_VIEWS)
    if source.name not in views:
        row = reader.read_catalog_row(source.name, reader.grace * FRESH_SHARE)
        # A view of its own, because each moves on by itself.
        views.setdefault(source.name, replace(row.parse(parse_view)))
    return views[source.name]


def read_view(reader: Reader, name: str) -> BlockView:
    """Reads the view of a source as it is now, from its row in the catalog."""
    return parse_view(reader.read_catalog_row(name))


def parse_view(row: CatalogRow) -> BlockView:
    """Returns the view that the entries of one source in the catalog describe."""
    families, values = row.entries.column("family"), row.entries.column("value")
    states = values.filter(pc.equal(families, STATE_FAMILY))
    if not len(states):
        return BlockView(read_at=row.read_at)
    state = EpochState.from_json(states[0].as_py())
    died = row.entries.column("qualifier").filter(pc.equal(families, DIED_FAMILY))
    return (
        BlockView(state, _find_dead(died, state), row.read_at) if len(died) else BlockView(state, read_at=row.read_at)
    )


def make_died_name(epoch: int, row: bytes) -> bytes:
    """Returns the qualifier that says that an epoch has replaced a block."""
    return epoch.to_bytes(EPOCH_BYTES, "big") + row


def read_epochs_of_names(names: pa.BinaryArray) -> np.ndarray:
    """Returns the epoch in each name that ``make_died_name`` has made."""
    return to_byte_rows(names, EPOCH_BYTES + BLOCK_ROW_BYTES)[:, :EPOCH_BYTES].copy().view(">u4").reshape(-1)


def _find_dead(names: pa.BinaryArray, state: EpochState) -> pa.BinaryArray:
    """Returns the IDs of the blocks that committed epochs have replaced."""
    epochs = read_epochs_of_names(names)
    in_force = (epochs <= state.epoch) & ~np.isin(epochs, state.aborted)
    names = names.filter(pa.array(in_force))
    keys = pc.binary_slice(names, EPOCH_BYTES + SHARD_BYTES, EPOCH_BYTES + BLOCK_ROW_BYTES)
    return join_bytes(keys, pc.binary_slice(names, EPOCH_BYTES, EPOCH_BYTES + SHARD_BYTES))
