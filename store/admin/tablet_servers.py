"""Reads the status of tablet servers: the tablets they serve, their compactions, and whether they refuse writes.

Each server is asked directly and answers with its state at that moment; an answer takes a millisecond or so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.connection import Connection

_ANSWER_MILLIS = 1000


@dataclass(frozen=True)
class TableLoad:
    """The load of a server by one table: the number of its tablets, and of running and queued compactions of these.

    A *minor* compaction writes a tablet's entries from memory to a file; a *major* compaction merges files.
    """

    tablets: int
    minors_running: int
    minors_queued: int
    majors_running: int
    majors_queued: int


@dataclass(frozen=True)
class TabletServer:
    """One tablet server.

    ``is_silent`` is true if it did not answer within a second, because it is stopped, killed or out of memory; then
    nothing else is known of it. ``hold_ms`` is the time in milliseconds for which it has been refusing writes because
    its memory for entries is full; 0 if it accepts writes. ``tables`` is its load by table name.
    """

    address: str
    is_silent: bool
    hold_ms: int
    tables: Mapping[str, TableLoad]

    @property
    def minors_running(self) -> int:
        return sum(table.minors_running for table in self.tables.values())

    @property
    def majors_running(self) -> int:
        return sum(table.majors_running for table in self.tables.values())


def list_tablet_servers(connection: Connection) -> list[TabletServer]:
    """Returns the status of all tablet servers, asked one after the other.

    The connection's user must be an administrator. Raises ``StoreError`` if Accumulo does not list the servers.
    """
    client: Any = connection.client
    try:
        names = {str(number): str(name) for name, number in client.tableOperations().tableIdMap().items()}
        statuses = jvm.java_class("watchfloor.stack.TabletServers").statuses(client, _ANSWER_MILLIS)
    except Exception as error:
        raise StoreError(f"the tablet servers cannot be asked how they are: {error}") from error
    return [_read_status(str(address), status, names) for address, status in statuses.items()]


def _read_status(address: str, status: Any, names: Mapping[str, str]) -> TabletServer:
    """Returns a server's status from Java's, which is null if the server is silent; ``names`` are tables by ID."""
    if status is None:
        return TabletServer(address, is_silent=True, hold_ms=0, tables={})
    tables = {}
    for number, info in status.getTableMap().items():
        # A table that was dropped a moment ago has no name any more.
        tables[names.get(str(number), str(number))] = TableLoad(
            int(info.getOnlineTablets()), *_count_compactions(info.getMinors()), *_count_compactions(info.getMajors())
        )
    return TabletServer(address, is_silent=False, hold_ms=int(status.getHoldTime()), tables=tables)


def _count_compactions(compactions: Any) -> tuple[int, int]:
    """Returns the numbers of running and of queued compactions.

    A table whose first tablet is being opened reports no compactions yet.
    """
    return (0, 0) if compactions is None else (int(compactions.getRunning()), int(compactions.getQueued()))
