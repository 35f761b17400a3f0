"""Which blocks of a source one query sees, while compaction replaces many by few (``docs/compaction.md``).

A source's row in the catalog has two families beside its definition: ``compaction`` holds the state (``State``), and
``died`` the names of the blocks that an epoch has replaced, until they are deleted. Keys sort so that the state is
read before them: what an epoch has replaced is written before the state says that it is committed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import StoreError
from watchfloor.store.encoding.keys import SHARD_BYTES
from watchfloor.store.encoding.values import fixed_binary, fixed_rows, joined
from watchfloor.store.layouts.block.keys import BLOCK_ROW_BYTES, epochs_of_blocks

if TYPE_CHECKING:
    from watchfloor.store.store import Store

GRACE_SECONDS = 60.0
"""For so long after an epoch is committed nothing that it has replaced is deleted."""
FRESH_SHARE = 1 / 12
"""A view is used again for so much of the grace: 5 s."""
SAFE_SHARE = 1 / 2
"""And a read that ends within so much of it needs no second look."""
STATE_FAMILY, STATE, DIED_FAMILY = b"compaction", b"state", b"died"
EPOCH_BYTES = 4


@dataclass(frozen=True)
class State:
    """``epoch`` is the last one committed, ``begun`` the last one begun, by ``owner`` if it still is at work.

    Blocks that died by the epoch ``horizon`` may be gone. Of ``aborted`` epochs nothing is ever seen.
    """

    epoch: int = 0
    begun: int = 0
    horizon: int = 0
    owner: str = ""
    aborted: tuple[int, ...] = ()

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> State:
        fields = json.loads(text)
        return cls(**{**fields, "aborted": tuple(fields["aborted"])})


@dataclass
class View:
    """What one query sees. ``died``: the IDs of blocks that it must not, as those of ``Hits``: the row, shard last."""

    state: State = State()
    died: pa.BinaryArray = field(default_factory=lambda: pa.array([], pa.binary()))
    read_at: float = field(default_factory=time.monotonic)
    """When its reading began, by the monotonic clock."""

    @property
    def age(self) -> float:
        return time.monotonic() - self.read_at

    def sees(self, ids: np.ndarray) -> np.ndarray | None:
        """Which blocks are seen, of those with these IDs ((n, bytes): the row, shard last); None if all are."""
        epochs = epochs_of_blocks(ids)
        hidden = epochs > self.state.epoch
        if self.state.aborted and epochs.any():
            hidden |= np.isin(epochs, self.state.aborted)
        if len(self.died):
            hidden |= pc.is_in(fixed_binary(ids), value_set=self.died).to_numpy(zero_copy_only=False)
        return ~hidden if hidden.any() else None

    def sees_rows(self, rows: pa.BinaryArray) -> np.ndarray | None:
        """As ``sees``, of blocks with these rows."""
        return self.sees(np.roll(fixed_rows(rows, BLOCK_ROW_BYTES), -SHARD_BYTES, axis=1))

    def check(self, store: Store, name: str) -> None:
        """To be called when a read by this view has ended: ``StoreError`` if blocks may have been deleted under it.

        Whoever commits an epoch waits for the grace before it deletes. So a younger view is right, one that is found
        to be the newest still is as good as new, and any other is as long as the horizon has not passed it.
        """
        if self.age < store.grace * SAFE_SHARE:
            return
        now = time.monotonic()
        state = read_view(store, name).state
        if state.horizon > self.state.epoch:
            raise StoreError(f"the blocks of {name} were compacted meanwhile, and this query took too long; ask again")
        if state.epoch == self.state.epoch:
            self.read_at = now


def read_view(store: Store, name: str) -> View:
    """The view of a source as it is now: one look at its row in the catalog."""
    began = time.monotonic()
    views = views_of(store.catalog(name), began)
    return views.get(name.encode(), View(read_at=began))


def views_of(entries: pa.RecordBatch, read_at: float) -> Mapping[bytes, View]:
    """The views of all sources of which there is a state among entries of the catalog, by row."""
    families = entries.column("family")
    states = entries.filter(pc.equal(families, STATE_FAMILY))
    died = entries.filter(pc.equal(families, DIED_FAMILY))
    views = {}
    for row, value in zip(states.column("row").to_pylist(), states.column("value").to_pylist(), strict=True):
        state = State.from_json(value)
        names = died.filter(pc.equal(died.column("row"), row)).column("qualifier") if len(died) else None
        views[row] = View(state, _ids(names, state), read_at) if names is not None else View(state, read_at=read_at)
    return views


def died_name(epoch: int, row: bytes) -> bytes:
    """The qualifier that says that an epoch has replaced a block."""
    return epoch.to_bytes(EPOCH_BYTES, "big") + row


def epochs_of_names(names: pa.BinaryArray) -> np.ndarray:
    return fixed_rows(names, EPOCH_BYTES + BLOCK_ROW_BYTES)[:, :EPOCH_BYTES].copy().view(">u4").reshape(-1)


def _ids(names: pa.BinaryArray, state: State) -> pa.BinaryArray:
    epochs = epochs_of_names(names)
    in_force = (epochs <= state.epoch) & ~np.isin(epochs, state.aborted)
    names = names.filter(pa.array(in_force))
    keys = pc.binary_slice(names, EPOCH_BYTES + SHARD_BYTES, EPOCH_BYTES + BLOCK_ROW_BYTES)
    return joined(keys, pc.binary_slice(names, EPOCH_BYTES, EPOCH_BYTES + SHARD_BYTES))
