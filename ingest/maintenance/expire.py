"""Removes the expired events of sources, while no compaction of their blocks runs on this host."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from watchfloor.schema.errors import OperatorError
from watchfloor.schema.source import Source
from watchfloor.store.retention.removal import Removal, remove_expired
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.store import Store


def expire_sources(store: Store, sources: Sequence[Source]) -> Removal:
    """Removes what is expired of sources; ``store`` is open for ingest.

    Raises ``OperatorError`` if a compaction of one of them is running, ``StoreError``.
    """
    with ExitStack() as locks:
        for source in sorted(sources, key=lambda one: one.name):
            busy = OperatorError(
                f"`watchfloor compact {source.name}` or a removal is running; run `watchfloor retention --apply` later"
            )
            locks.enter_context(hold_file_lock(store.settings.home / f"compact-{source.name}.lock", busy))
        return remove_expired(store, sources)
