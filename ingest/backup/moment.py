"""The moment of an export: clones of all tables that agree with each other, while ingest goes on.

1. An epoch of each source in the block layout is held open, so that no other one is committed meanwhile: no block is
   replaced, neither by a compaction nor by an item that is read again.
2. The ledger is cloned first. Items that it calls done or failed then are *whole*: all their entries are durable, so
   they are in the clones that follow. Of other items the clones may have a part; none of it is exported.
3. The quarantine is cloned next, which tells the settled retries, and then all other tables.
   The views are read before these, because the names of dead blocks are removed after the blocks.
4. The definitions and policies are read, and the epochs are committed. If another process has aborted one of
   them, or a worker has begun to read a whole item again before the last clone was made, all begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from watchfloor.ingest.formats.registry import sources_of_feed
from watchfloor.ingest.reading.parts import part_ids
from watchfloor.ingest.records.ledger import Ledger, LedgerRow, is_end_of_loser
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.schema.errors import OperatorError, StoreError, UnknownSourceError
from watchfloor.schema.source import Source
from watchfloor.store.admin.clones import clone_tables, drop_clones, drop_stale_clones, name_clones
from watchfloor.store.admin.tables import (
    ITEMS_TABLE,
    QUARANTINE_TABLE,
    SIGHTINGS_TABLE,
    call_for_each,
    flush_table,
    source_tables,
)
from watchfloor.store.layouts.held_sources import HeldSources, Keep, UnsuitableMomentError, tells_items
from watchfloor.store.retention.policy import RetentionPolicy, read_policy
from watchfloor.store.store import Store

PATIENCE = 120.0
"""Seconds for which an export waits: for an epoch of another process, and for a moment that suits."""
_PAUSE = 1.0


@dataclass(frozen=True)
class SourceMoment:
    """A source at the moment: its definition, retention and last epoch, and what is kept of its event and index."""

    source: Source
    policy: RetentionPolicy
    epoch: int
    keeps: tuple[Keep, Keep]


@dataclass(frozen=True)
class Moment:
    """Clones by table, and the catalog's rows, of one moment (µs since 1970 UTC).

    ``store`` sees all entries. ``known`` are the sources of the store, ``rows`` the ledger's rows of whole items whose
    feeds write to the exported sources, ``items`` the IDs of all whole items, and ``claims`` those of the settled
    retries among them, each with the ID of its item.
    """

    at: int
    store: Store
    known: Mapping[str, Source]
    clones: Mapping[str, str]
    sources: Mapping[str, SourceMoment]
    rows: Sequence[LedgerRow]
    items: pa.BinaryArray
    claims: Mapping[bytes, bytes]


@contextmanager
def hold_moment(store: Store, names: Sequence[str], others: Sequence[str] = ()) -> Iterator[Moment]:
    """Takes a moment of sources and of ``others``, which are tables, and drops its clones at the end.

    ``store`` is open for ingest.

    Raises ``UnknownSourceError``, ``OperatorError`` if no moment suits for two minutes, ``StoreError``.
    """
    drop_stale_clones(store.connection)
    deadline = time.monotonic() + PATIENCE
    while True:
        known = store.catalog.read_sources()
        for name in names:
            if name not in known:
                raise UnknownSourceError(name, known)
        clones = name_clones([*_list_tables([known[name] for name in names]), *others])
        try:
            try:
                moment = _take_moment(store, known, names, clones)
            except UnsuitableMomentError as error:
                if time.monotonic() > deadline:
                    raise OperatorError(f"no moment suits the export: {error}") from None
                time.sleep(_PAUSE)
                continue
            yield moment
            return
        finally:
            drop_clones(store.connection, list(clones.values()))


def _list_tables(sources: Sequence[Source]) -> list[str]:
    """Returns the tables that are cloned, in this order."""
    return [ITEMS_TABLE, QUARANTINE_TABLE, SIGHTINGS_TABLE, *(t for source in sources for t in source_tables(source))]


def _take_moment(store: Store, known: Mapping[str, Source], names: Sequence[str], clones: dict[str, str]) -> Moment:
    """Takes a moment. Raises ``UnsuitableMomentError`` or another ``StoreError``."""
    # What is in files already need not be written while others wait for the epochs.
    call_for_each(list(clones), lambda table: flush_table(store.connection, table))
    seeing = store.seeing_all_of(*known.values())
    held = HeldSources(store, [known[name] for name in names], PATIENCE)
    try:
        at = time.time_ns() // 1000
        for first in (ITEMS_TABLE, QUARANTINE_TABLE):
            clone_tables(store.connection, {first: clones[first]})
        rest = {table: clone for table, clone in clones.items() if table not in (ITEMS_TABLE, QUARANTINE_TABLE)}
        clone_tables(store.connection, rest)
        definitions = _read_definitions(store, names)
        policies = {name: read_policy(store, name) for name in names}
    except BaseException:
        held.release()
        raise
    held.end()
    rows = list(Ledger(seeing, clones[ITEMS_TABLE]).read_rows(("queued", "running", "done", "failed")))
    whole = [row for row in rows if _is_whole(row)]
    touching = _find_touching(known, names)
    _refuse_reread(store, [row for row in whole if touching(row)])
    claims = Quarantine(seeing, clones[QUARANTINE_TABLE]).settled_claims()
    if untold := {name for name in names if not tells_items(known[name])}:
        writing = _find_touching(known, untold)
        _refuse_partial([row for row in rows if row.run is not None and not _is_whole(row) and writing(row)])
        _refuse_open_claims(Quarantine(seeing, clones[QUARANTINE_TABLE]), claims)
    ids = [part for row in whole if row.item is not None for part in part_ids(row.item)]
    items = pa.array(sorted({*ids, *claims}), pa.binary())
    sources = {}
    for name, source in definitions.items():
        keeps = held.choose_entries(seeing, source, clones, items)
        sources[name] = SourceMoment(source, policies[name], held.find_epoch(source), keeps)
    return Moment(at, seeing, known, clones, sources, [row for row in whole if touching(row)], items, claims)


def _read_definitions(store: Store, names: Sequence[str]) -> dict[str, Source]:
    definitions = store.catalog.read_sources()
    for name in names:
        if name not in definitions:
            raise StoreError(f"{name} was removed meanwhile")
    return {name: definitions[name] for name in names}


def _is_whole(row: LedgerRow) -> bool:
    """Returns whether all entries of an item are durable, and none of them is being written."""
    if row.state in ("done", "failed"):
        return True
    if row.state != "queued" or row.end is None or is_end_of_loser(row.run, row.end):
        return False
    # It is to be read again, and no worker has begun to.
    return row.run is None or row.run.ticket == row.end.ticket


def _find_touching(known: Mapping[str, Source], names: Collection[str]) -> Callable[[LedgerRow], bool]:
    """Returns a function that tells whether the files of an item's feed may have events in one of some sources."""

    @cache
    def touches(feed: str) -> bool:
        return any(source.name in names for source in sources_of_feed(feed, known))

    return lambda row: row.item is not None and touches(row.item.feed)


def _refuse_reread(store: Store, whole: Sequence[LedgerRow]) -> None:
    """Raises ``UnsuitableMomentError`` if a worker has begun to read a whole item again."""
    now = {row.item_id: row for row in Ledger(store).read_rows(("queued", "running", "done", "failed"))}
    for row in whole:
        found = now.get(row.item_id)
        if found is None or found.run != row.run:
            raise UnsuitableMomentError(f"{row.path} is being read again; export when that is done")


def _refuse_partial(rows: Sequence[LedgerRow]) -> None:
    """Raises ``UnsuitableMomentError`` for items that have some of their events in a source of the cell layout."""
    for row in rows:
        raise UnsuitableMomentError(
            f"{row.path} is being read into a source in the cell layout: export when it is done, with workers stopped"
        )


def _refuse_open_claims(quarantine: Quarantine, settled: Collection[bytes]) -> None:
    """Raises ``UnsuitableMomentError`` if a retry has some of its events in the store."""
    for line in quarantine.open_lines():
        if line.claim and bytes.fromhex(line.claim) not in settled:
            raise UnsuitableMomentError("a retry of quarantined lines has not ended: run `watchfloor quarantine retry`")
