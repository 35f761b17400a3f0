"""The policy of a source's retention, which stands in the source's row in the catalog.

An event is *expired* if it is older than the policy keeps events. No reader shows it from then on: layouts and counts
cut every time range at ``find_kept_from``. Before expired events are removed, the time before which they are removed
is written into the policy, and it never goes back. So a policy that keeps events for longer again shows none of which
only a part is left.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import pyarrow.compute as pc

from watchfloor.schema.errors import UserError
from watchfloor.schema.times import END_OF_TIME
from watchfloor.store.admin.tables import SOURCES_TABLE
from watchfloor.store.bridge.connection import Cell
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.reader import CatalogRow, Reader, Slot
from watchfloor.store.snapshot import FRESH_SHARE

_FAMILY, _QUALIFIER = b"retention", b"policy"
_INDEX_SHARE = 1 / 8
SHORTEST = HOUR
"""The shortest time (µs) for which events can be kept."""


@dataclass(frozen=True)
class RetentionPolicy:
    """``keep`` is the time (µs) for which events are kept; None keeps them for good.

    Events before ``removed_before`` (µs since 1970 UTC) were removed, or their removal has begun. It has ended for
    those before ``events_gone_before``, and for index entries, counts and sightings before ``index_gone_before``.
    """

    keep: int | None = None
    removed_before: int = 0
    events_gone_before: int = 0
    index_gone_before: int = 0

    def kept_from(self, now: int) -> int:
        """Returns the time (µs) from which on events are shown: the start of an hour, so whole counts tell it."""
        expired = 0 if self.keep is None else (now - self.keep) // HOUR * HOUR
        return max(expired, self.removed_before, 0)

    def is_index_due(self, kept_from: int) -> bool:
        """Returns whether the removal of events before ``kept_from`` (µs) should remove what belongs to them as well.

        Index and counts stand by value: all of their files are written anew. So this waits until an eighth of the time
        that is kept has expired since.
        """
        if not self.index_gone_before or self.keep is None:
            return kept_from > self.index_gone_before
        return kept_from - self.index_gone_before >= self.keep * _INDEX_SHARE


class PolicyStore(Reader, Protocol):
    """The part of ``Store`` that changes policies."""

    def swap(self, table: str, cell: Cell, expected: bytes | None, value: bytes) -> bool: ...


_KEPT_FROM: Slot[dict[str, int]] = Slot(dict)


def find_kept_from(reader: Reader, name: str) -> int:
    """Returns the time (µs) from which on a reader sees the events of a source; always the same in a snapshot.

    The policy is seconds old at most.
    """
    found = reader.get_slot(_KEPT_FROM)
    if name not in found:
        row = reader.read_catalog_row(name, reader.grace * FRESH_SHARE)
        found.setdefault(name, row.parse(parse_policy).kept_from(time.time_ns() // 1000))
    return found[name]


def cut_range(reader: Reader, name: str, since: int, until: int) -> tuple[int, int]:
    """Returns the part of [since, until) in which a reader sees events of a source.

    A range in which none can lie becomes the microsecond at ``END_OF_TIME``, as by ``clip_range``.
    """
    kept_from = find_kept_from(reader, name)
    if since >= kept_from:
        return since, until
    return (kept_from, until) if kept_from < until else (END_OF_TIME, END_OF_TIME + 1)


def read_policy(reader: Reader, name: str) -> RetentionPolicy:
    """Reads the policy of a source as it is now."""
    return parse_policy(reader.read_catalog_row(name))


def parse_policy(row: CatalogRow) -> RetentionPolicy:
    """Returns the policy in the entries of one source in the catalog; without one, events are kept for good."""
    stored = _find_stored(row)
    return RetentionPolicy() if stored is None else RetentionPolicy(**json.loads(stored))


def set_keep(store: PolicyStore, name: str, keep: int | None) -> RetentionPolicy:
    """Keeps a source's events for ``keep`` µs from now on, or for good; returns the new policy.

    All clients see it within seconds. Raises ``UserError`` for less than an hour.
    """
    if keep is not None and keep < SHORTEST:
        raise UserError("events are kept for an hour at least: write --keep 1h, 90d, 52w or forever")
    return _change_policy(store, name, keep=keep)


def begin_removal(store: PolicyStore, name: str, before: int) -> RetentionPolicy:
    """Writes down that events before a time (µs) are removed from now on; returns the new policy."""
    return _change_policy(store, name, removed_before=before)


def end_removal(store: PolicyStore, name: str, before: int, index: bool = False) -> RetentionPolicy:
    """Writes down that the removal of events before a time (µs), or with ``index`` of what is theirs, has ended."""
    return _change_policy(store, name, **{"index_gone_before" if index else "events_gone_before": before})


def _change_policy(store: PolicyStore, name: str, **values: int | None) -> RetentionPolicy:
    """Changes the stored policy, also while other clients change it. ``removed_before`` never goes back."""
    while True:
        row = store.read_catalog_row(name)
        known = parse_policy(row)
        wanted = replace(known, **values)  # type: ignore[arg-type]
        wanted = replace(wanted, removed_before=max(wanted.removed_before, known.removed_before))
        cell: Cell = (name.encode(), _FAMILY, _QUALIFIER)
        text = json.dumps(asdict(wanted)).encode()
        if wanted == known or store.swap(SOURCES_TABLE, cell, _find_stored(row), text):
            store.read_catalog_row(name)  # This client sees the change at once.
            return wanted


def _find_stored(row: CatalogRow) -> bytes | None:
    stored: list[bytes] = (
        row.entries.column("value").filter(pc.equal(row.entries.column("family"), _FAMILY)).to_pylist()
    )
    return stored[0] if stored else None
