"""What the tablet servers are doing for scans right now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Session:
    """A scan that a tablet server knows of. ``number`` is -1 for one that was closed while the server was reading for
    it: it reads no more, and lets go of its files when the server next looks through its sessions."""

    number: int
    table: str
    state: str
    idle_millis: int

    @property
    def closed(self) -> bool:
        return self.number == -1


def scan_sessions(client: Any, tables: Iterable[str]) -> list[Session]:
    """All sessions of scans of some tables, on all tablet servers; ``client`` is an ``AccumuloClient``."""
    wanted = set(tables)
    operations = client.instanceOperations()
    sessions = [
        Session(int(scan.getScanid()), str(scan.getTable()), str(scan.getState()), int(scan.getIdleTime()))
        for server in operations.getTabletServers()
        for scan in operations.getActiveScans(server)
    ]
    return [session for session in sessions if session.table in wanted]
