"""Lists the scans that tablet servers are serving at this moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from watchfloor.store.bridge.connection import Connection


@dataclass(frozen=True)
class ScanSession:
    """A scan session on a tablet server.

    ``number`` is -1 for a scan that was closed while the server was reading for it: the server stops reading, and
    releases the scan's files when it next checks its sessions.
    """

    number: int
    table: str
    state: str
    idle_millis: int

    @property
    def is_closed(self) -> bool:
        """True if the client has closed the scan."""
        return self.number == -1


def list_scan_sessions(connection: Connection, tables: Iterable[str]) -> list[ScanSession]:
    """Returns the sessions of all scans of these tables, on all tablet servers."""
    names = set(tables)
    operations = connection.client.instanceOperations()
    sessions = [
        ScanSession(int(scan.getScanid()), str(scan.getTable()), str(scan.getState()), int(scan.getIdleTime()))
        for server in operations.getTabletServers()
        for scan in operations.getActiveScans(server)
    ]
    return [session for session in sessions if session.table in names]
