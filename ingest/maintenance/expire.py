"""Removes the expired events of sources, while no compaction of their blocks runs on this host."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from watchfloor.schema.errors import OperatorError
from watchfloor.schema.source import Source
from watchfloor.store.retention.policy import read_policy
from watchfloor.store.retention.removal import Removal, remove_expired
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.store import Store


@dataclass(frozen=True)
class Expiry:
    """The outcome of a removal, and the names of the sources that are ``busy``: nothing of these was removed."""

    removal: Removal
    busy: tuple[str, ...]


def expire_sources(store: Store, sources: Sequence[Source]) -> Expiry:
    """Removes what is expired of sources, but for those that are being compacted; ``store`` is open for ingest.

    Raises ``OperatorError`` if all sources that have expired events are being compacted, ``StoreError``.
    """
    now = time.time_ns() // 1000
    due = [source for source in sources if read_policy(store, source.name).kept_from(now)]
    with ExitStack() as locks:
        free: list[Source] = []
        busy: list[str] = []
        for source in sorted(due, key=lambda one: one.name):
            error = OperatorError(
                f"`watchfloor compact {source.name}` or a removal is running; run `watchfloor retention --apply` later"
            )
            try:
                locks.enter_context(hold_file_lock(store.settings.home / f"compact-{source.name}.lock", error))
                free.append(source)
            except OperatorError:
                busy.append(source.name)
                if len(busy) == len(due):
                    raise
        return Expiry(remove_expired(store, free), tuple(busy))
