"""Changes the blocks of a source in epochs: one at a time, by compare-and-set (``docs/compaction.md``).

An epoch is begun, its blocks are written where no query sees them, and it is committed by one swap of the state. A
process that finds an epoch of another open waits a while and then aborts it, so that the other's commit fails: it need
not know whether the other is slow or dead.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import SOURCES_TABLE
from watchfloor.store.runtime.process_identity import ProcessIdentity, name_this_process
from watchfloor.store.store import Store

from .block_view import DIED_FAMILY, STATE, STATE_FAMILY, EpochState, make_died_name, read_view

_POLL_SECONDS = 0.1


class EpochAbortedError(StoreError):
    """Raised when another process has aborted the epoch that was to be committed."""


class EpochWriter:
    """Begins and ends epochs of one source, for a process that changes the source's blocks."""

    def __init__(self, store: Store, source: Source) -> None:
        self._store, self._source = store, source
        self._me = f"{name_this_process()}:{secrets.token_hex(4)}"

    def read_state(self) -> EpochState:
        """Returns the state as it is now."""
        return read_view(self._store, self._source.name).state

    def await_turn(self, patience: float, waiting: Callable[[], None] = lambda: None) -> EpochState:
        """Waits until no epoch is open and returns the state. ``waiting`` is called several times a second.

        An epoch that is open for longer than ``patience`` (s), or whose owner is dead, is aborted.
        """
        deadline, waited_for = 0.0, -1
        while (state := self.read_state()).owner:
            waiting()
            if state.begun != waited_for:
                deadline, waited_for = time.monotonic() + patience, state.begun
            if time.monotonic() > deadline or _is_gone(state.owner):
                self._swap_state(state, _mark_aborted(state))
            else:
                time.sleep(_POLL_SECONDS)
        return state

    def begin_epoch(self, planned: EpochState) -> EpochState | None:
        """Begins the next epoch and returns its state; None if another epoch was begun since the state ``planned``."""
        state = self.read_state()
        if planned.owner or state.owner or state.begun != planned.begun:
            return None
        mine = replace(state, begun=state.begun + 1, owner=self._me)
        return mine if self._swap_state(state, mine) else None

    def list_replaced(self, state: EpochState, rows: Iterable[bytes]) -> None:
        """Writes durably the names of the blocks that the open epoch replaces when it is committed."""
        name = self._source.name.encode()
        entries = [(name, DIED_FAMILY, make_died_name(state.begun, row), b"") for row in rows]
        if entries:
            self._store.put(SOURCES_TABLE, entries)

    def commit_epoch(self) -> EpochState:
        """Commits the open epoch, which queries then see. Raises ``EpochAbortedError`` if another has aborted it."""
        return self._end_epoch(lambda mine: replace(mine, epoch=mine.begun, owner=""))

    def abort_epoch(self) -> None:
        """Aborts the open epoch; nothing of it is ever seen."""
        with suppress(EpochAbortedError):
            self._end_epoch(_mark_aborted)

    def pass_horizon(self, epoch: int) -> None:
        """Writes that the blocks which were replaced up to this epoch are being deleted."""
        while (state := self.read_state()).horizon < epoch:
            self._swap_state(state, replace(state, horizon=epoch))

    def _end_epoch(self, change: Callable[[EpochState], EpochState]) -> EpochState:
        """Changes the state while this process has an epoch open. Raises ``EpochAbortedError`` if it has none."""
        while (state := self.read_state()).owner == self._me:
            if self._swap_state(state, changed := change(state)):
                return changed
        raise EpochAbortedError(f"the compaction of {self._source.name} was aborted by another; try again")

    def _swap_state(self, old: EpochState, new: EpochState) -> bool:
        """Writes the state ``new`` if the stored one is still ``old``. Returns whether it did."""
        cell = self._source.name.encode(), STATE_FAMILY, STATE
        return self._store.swap(SOURCES_TABLE, cell, None if old == EpochState() else old.to_json(), new.to_json())


def _mark_aborted(state: EpochState) -> EpochState:
    """Returns the state after its open epoch was aborted."""
    return replace(state, owner="", aborted=(*state.aborted, state.begun))


def _is_gone(owner: str) -> bool:
    """Returns whether an owner was a process of this host that does not run any more."""
    host, pid, _ = owner.rsplit(":", 2)
    return ProcessIdentity(host, int(pid)).is_gone()
