"""Removes expired events, with their index entries, counts and sightings, so that their disk space is free again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.store.admin.expired_rows import read_table_bytes, remove_expired_events, remove_expired_rows
from watchfloor.store.admin.tables import SIGHTINGS_TABLE, source_tables
from watchfloor.store.encoding.keys import aggregate_table, event_table, index_table
from watchfloor.store.snapshot import FRESH_SHARE
from watchfloor.store.store import Store

from .policy import begin_removal, end_removal, read_policy


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

    Index entries, counts and sightings are removed when that is due by the policy (``is_index_due``); until then they
    take disk space, and no answer has them. Each policy says first what is removed, so that a policy that is changed
    meanwhile shows nothing of it again. ``wait`` waits until every client has seen this. A removal that broke off is
    completed by the next. Raises ``StoreError``.
    """
    began = time.monotonic()
    now = time.time_ns() // 1000
    chosen = {source.name: source for source in sources}
    starts = {name: read_policy(store, name).kept_from(now) for name in chosen}
    starts = {name: kept_from for name, kept_from in starts.items() if kept_from}
    policies = {name: begin_removal(store, name, kept_from) for name, kept_from in starts.items()}
    starts = {name: policy.removed_before for name, policy in policies.items()}
    if not starts:
        return Removal((), 0, 0, time.monotonic() - began)
    # A client's reading of the catalog, and then its snapshot, may each be so old.
    wait(2 * store.grace * FRESH_SHARE)
    try:
        tables = [table for name in starts for table in source_tables(chosen[name])]
        before = read_table_bytes(store.connection, [*tables, SIGHTINGS_TABLE])
        for name, kept_from in starts.items():
            if policies[name].events_gone_before < kept_from:
                remove_expired_events(store.connection, event_table(chosen[name]), chosen[name].shards, kept_from)
                end_removal(store, name, kept_from)
        _remove_index(store, {name: at for name, at in starts.items() if policies[name].is_index_due(at)}, chosen)
        after = read_table_bytes(store.connection, [*tables, SIGHTINGS_TABLE])
    except Exception as error:
        raise StoreError(f"cannot remove expired events: {error}; run `watchfloor retention --apply` again") from error
    return Removal(tuple(sorted(starts)), before, after, time.monotonic() - began)


def _remove_index(store: Store, starts: Mapping[str, int], sources: Mapping[str, Source]) -> None:
    """Removes index entries, counts and sightings of the events before a time (µs), by the source's name."""
    if not starts:
        return
    options = {SIGHTINGS_TABLE: {"table": "sightings", **{f"of:{name}": str(at) for name, at in starts.items()}}}
    for name, kept_from in starts.items():
        options[index_table(sources[name])] = {"table": "index", "from": str(kept_from)}
        options[aggregate_table(sources[name])] = {"table": "counts", "from": str(kept_from)}
    remove_expired_rows(store.connection, options)
    for name, kept_from in starts.items():
        end_removal(store, name, kept_from, index=True)


def read_source_bytes(store: Store, source: Source) -> int:
    """Returns the bytes of the files of a source's tables, without its sightings."""
    return read_table_bytes(store.connection, source_tables(source))
