"""Finds the work items of which an export has all events, and those of which it has a part.

A file of a family (Zeek, Suricata) may have written to any source of its family. The ledger says how many events an
item has become, and the counts of the exported sources say how many of them are theirs: if these are as many, no other
source has any of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import orjson
import pyarrow as pa

from watchfloor.ingest.formats.registry import sources_of_feed
from watchfloor.ingest.reading.parts import part_ids
from watchfloor.ingest.records.ledger import ItemEnd, LedgerRow, item_key
from watchfloor.schema.source import Source
from watchfloor.schema.text import list_names


@dataclass(frozen=True)
class ExportedItems:
    """The rows of the ledger for an export: items of which it has ``all`` events, and those of which it has ``some``.

    Items of which it has none are in neither, but for those that became no event at all. ``untold`` is the number of
    items of which it has some, and whose rows are left out: lines of them were retried, or they are queued again.
    """

    all: Sequence[LedgerRow]
    some: Sequence[LedgerRow]
    untold: int


def choose_items(
    rows: Sequence[LedgerRow],
    known: Mapping[str, Source],
    exported: Collection[str],
    claims: Mapping[bytes, bytes],
    counts: Mapping[bytes, int],
) -> ExportedItems:
    """Returns which of whole items' rows belong to an export of the sources ``exported``, of all that are ``known``.

    ``claims`` maps the identities of settled retries to their items. ``counts`` are the events in the exported sources
    by the identity under which they count: that of an item's part, or of a retry.
    """

    @cache
    def is_feed_exported(feed: str) -> bool:
        return all(source.name in exported for source in sources_of_feed(feed, known))

    claims_of: dict[bytes, list[bytes]] = defaultdict(list)
    for claim, item_id in claims.items():
        claims_of[item_id].append(claim)
    every: list[LedgerRow] = []
    some: list[LedgerRow] = []
    untold = 0
    for row in rows:
        if row.item is None or row.end is None:
            continue
        own = sum(counts.get(identity, 0) for identity in part_ids(row.item))
        retried = sum(counts.get(claim, 0) for claim in claims_of.get(row.item.item_id, ()))
        is_all = (own, retried) == (row.end.events, row.end.retried)
        if row.end.state == "failed":  # Such an item is read again, whatever it has written.
            is_all = own + retried > 0
        if is_all or is_feed_exported(row.item.feed):
            every.append(row)
        elif own + retried == 0:
            continue
        elif row.state == "done" and not row.end.retried and not retried:
            some.append(row)
        else:
            untold += 1
    return ExportedItems(every, some, untold)


def make_partial_ends(rows: Sequence[LedgerRow], exported: Collection[str]) -> pa.RecordBatch:
    """Returns the ledger's cells that say of items why they have failed where only the sources ``exported`` are.

    A file with such an item is read when it is loaded there, and its events take the place of the imported ones.
    """
    names = list_names(sorted(exported))
    reason = f"of its events only those of {names} were imported: load its file for the others"
    keys: list[bytes] = []
    ends: list[bytes] = []
    for row in rows:
        if row.item is not None and row.end is not None:
            end = ItemEnd(row.item.ticket, "failed", row.end.at, row.end.by, reason=reason, claim=row.end.claim)
            keys.append(item_key(row.item))
            ends.append(orjson.dumps(end))
    constant = {"family": b"", "qualifier": b"end", "visibility": b""}
    columns = {name: pa.array([value] * len(keys), pa.binary()) for name, value in constant.items()}
    return pa.RecordBatch.from_pydict(
        {"row": pa.array(keys, pa.binary()), **columns, "value": pa.array(ends, pa.binary())}
    )
