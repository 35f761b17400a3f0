"""What the tablet servers say of themselves: the tablets they serve, their compactions, and whether they hold writes.

Each is asked directly and answers with how it is at that moment; an answer takes a millisecond or so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge import jvm

_ANSWER_MILLIS = 1000


@dataclass(frozen=True)
class TableLoad:
    """One table's part of a server: ``tablets`` it serves, and how many of these are in, or wait for, a compaction.

    A *minor* compaction writes what a tablet has in memory to a file, a *major* one merges files.
    """

    tablets: int
    minors_running: int
    minors_queued: int
    majors_running: int
    majors_queued: int


@dataclass(frozen=True)
class TabletServer:
    """``silent``: it did not answer within a second, so nothing is known of it: stopped, killed or out of memory.

    ``hold_ms``: for how long by now it has let no write through, because its memory for entries is full; else 0.
    ``tables`` by name.
    """

    address: str
    silent: bool
    hold_ms: int
    tables: Mapping[str, TableLoad]

    @property
    def minors_running(self) -> int:
        return sum(table.minors_running for table in self.tables.values())

    @property
    def majors_running(self) -> int:
        return sum(table.majors_running for table in self.tables.values())


def tablet_servers(client: Any) -> list[TabletServer]:
    """All servers, each asked after the other; ``client`` is an ``AccumuloClient`` whose user may administer.

    Raises ``StoreError`` if it cannot be found out which servers there are.
    """
    try:
        names = {str(number): str(name) for name, number in client.tableOperations().tableIdMap().items()}
        statuses = jvm.java_class("watchfloor.stack.TabletServers").statuses(client, _ANSWER_MILLIS)
    except Exception as error:
        raise StoreError(f"the tablet servers cannot be asked how they are: {error}") from error
    return [_server(str(address), status, names) for address, status in statuses.items()]


def _server(address: str, status: Any, names: Mapping[str, str]) -> TabletServer:
    if status is None:
        return TabletServer(address, silent=True, hold_ms=0, tables={})
    tables = {}
    for number, info in status.getTableMap().items():
        # A table that was dropped a moment ago has no name any more.
        tables[names.get(str(number), str(number))] = TableLoad(
            int(info.getOnlineTablets()), *_counts(info.getMinors()), *_counts(info.getMajors())
        )
    return TabletServer(address, silent=False, hold_ms=int(status.getHoldTime()), tables=tables)


def _counts(compactions: Any) -> tuple[int, int]:
    """Those running and those queued; of a table whose first tablet is just being opened there is no word yet."""
    return (0, 0) if compactions is None else (int(compactions.getRunning()), int(compactions.getQueued()))
