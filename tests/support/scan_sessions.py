"""The scans that tablet servers know of."""

from __future__ import annotations

import time

from watchfloor.store.bridge.sources import Connection


def assert_scans_end(connection: Connection, table: str) -> None:
    """The servers soon know of no scan of a table, because each was closed and not because it was forgotten.

    One closed while a server reads for it is known, as number -1, until that looks through its sessions again: every
    second here. One that nobody closed keeps its number until it has been idle for two.
    """
    deadline = time.monotonic() + 30
    operations = connection.client.instanceOperations()
    while True:
        scans = [
            (int(scan.getScanid()), str(scan.getState()), int(scan.getIdleTime()))
            for server in operations.getTabletServers()
            for scan in operations.getActiveScans(server)
            if str(scan.getTable()) == table
        ]
        assert not [scan for scan in scans if scan[0] != -1 and scan[1] == "IDLE" and scan[2] > 1900]
        if not scans:
            return
        assert time.monotonic() < deadline, scans
        time.sleep(0.1)
