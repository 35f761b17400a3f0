"""Compacts one source.

Only one compaction of a source runs at a time on a host, and only blocks of items that are done are merged.
"""

from __future__ import annotations

import time

from watchfloor.ingest.reading.parts import part_ids
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.schema.errors import OperatorError, UserError
from watchfloor.store.layouts.block.blocks.block_keys import make_item_tag
from watchfloor.store.layouts.block.compaction.compaction import CompactionResult, ReportStep, compact_blocks
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.store import Store


def compact_source(
    store: Store, name: str, older_than: int, step: ReportStep = lambda done: None, index: bool = False
) -> CompactionResult:
    """Merges a source's small blocks of days that ended ``older_than`` µs ago. ``store`` is open for ingest.

    ``index`` also writes all blocks anew if an index does not cover all events.

    Raises ``UserError`` for a source without blocks, ``OperatorError`` if a compaction of it is running,
    ``NoRoomError``, ``StoreError``.
    """
    source = store.catalog.find_source(name)
    if source.layout != "block":
        raise UserError(
            f"{name} has the layout {source.layout}: each event has a row of its own, nothing can be merged"
        )
    store.check_room()
    # Two compactions at once would do no harm, but would abort each other.
    busy = OperatorError(
        f"another `watchfloor compact {source.name}` or `watchfloor retention --apply` is running; wait for it"
    )
    with hold_file_lock(store.settings.home / f"compact-{source.name}.lock", busy):
        retried = {make_item_tag(claim) for claim in Quarantine(store).settled_claims()}
        closed = time.time_ns() // 1000 - older_than
        return compact_blocks(store, source, lambda: settled_tags(store) | retried, closed, step=step, index=index)


def settled_tags(store: Store) -> set[bytes]:
    """Returns the tags of the blocks of items that are done: they are not written again unless somebody asks for it."""
    done: set[bytes] = set()
    others: set[bytes] = set()
    for row in Ledger(store).read_rows():
        if row.item is not None:
            (done if row.state == "done" else others).update(map(make_item_tag, part_ids(row.item)))
    return done - others
