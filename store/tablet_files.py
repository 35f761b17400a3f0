"""How many files tablets have, from Accumulo's metadata table, which every user may read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .ranges import Ranges
from .store import Store

_METADATA = "accumulo.metadata"


def most_files(store: Store, tables: Sequence[str]) -> tuple[str, int]:
    """The table, among those named, that has the tablet with the most files, and how many these are."""
    most = "", 0
    ids = store.connection.client.tableOperations().tableIdMap()
    for table in tables:
        tablets: Counter[bytes] = Counter()
        own = Ranges()
        # A tablet's row is ID;END or, for the last one, ID<.
        own.add_rows(f"{ids.get(table)};".encode(), f"{ids.get(table)}=".encode())
        for batch in store.scan(_METADATA, own):
            rows, families = batch.column("row").to_pylist(), batch.column("family").to_pylist()
            tablets.update(row for row, family in zip(rows, families, strict=True) if family == b"file")
        most = max(most, (table, max(tablets.values(), default=0)), key=lambda found: found[1])
    return most
