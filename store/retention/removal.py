"""Removes expired events, with their index entries, counts and sightings, so that their disk space is free again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.store.admin.expired_rows import read_table_bytes, remove_expired_rows
from watchfloor.store.admin.tables import SIGHTINGS_TABLE, source_tables
from watchfloor.store.snapshot import FRESH_SHARE
from watchfloor.store.store import Store

from .policy import begin_removal, read_policy

_KINDS = ("events", "index", "counts")


@dataclass(frozen=True)
class Removal:
    """The outcome of a removal: the names of the ``sources`` that had a policy, and the bytes of their files."""

    sources: tuple[str, ...]
    before: int
    after: int
    seconds: float

    @property
    def freed(self) -> int:
        return max(0, self.before - self.after)


def remove_expired(store: Store, sources: Sequence[Source], wait: Callable[[float], None] = time.sleep) -> Removal:
    """Removes what is expired of sources. ``store`` is open for ingest.

    Each policy says first what is removed, so that a policy that is changed meanwhile shows nothing of it again.
    ``wait`` waits until every client has seen this. A removal that broke off is completed by the next. Raises
    ``StoreError``.
    """
    began = time.monotonic()
    now = time.time_ns() // 1000
    chosen = {source.name: source for source in sources}
    starts = {name: read_policy(store, name).kept_from(now) for name in chosen}
    starts = {name: kept_from for name, kept_from in starts.items() if kept_from}
    for name in starts:
        starts[name] = begin_removal(store, name, starts[name]).removed_before
    if not starts:
        return Removal((), 0, 0, time.monotonic() - began)
    # A client's reading of the catalog, and then its snapshot, may each be so old.
    wait(2 * store.grace * FRESH_SHARE)
    options = {SIGHTINGS_TABLE: {"table": "sightings", **{f"of:{name}": str(at) for name, at in starts.items()}}}
    for name, kept_from in starts.items():
        for table, kind in zip(source_tables(chosen[name]), _KINDS, strict=True):
            options[table] = {"table": kind, "from": str(kept_from)}
    try:
        before = read_table_bytes(store.connection, list(options))
        remove_expired_rows(store.connection, options)
        after = read_table_bytes(store.connection, list(options))
    except Exception as error:
        raise StoreError(f"cannot remove expired events: {error}; run `watchfloor retention --apply` again") from error
    return Removal(tuple(sorted(starts)), before, after, time.monotonic() - began)


def read_source_bytes(store: Store, source: Source) -> int:
    """Returns the bytes of the files of a source's tables, without its sightings."""
    return read_table_bytes(store.connection, source_tables(source))
