"""The scans that tablet servers know of."""

from __future__ import annotations

import time

from watchfloor.store.admin.scan_sessions import list_scan_sessions
from watchfloor.store.bridge.connection import Connection


def assert_scans_end(connection: Connection, table: str) -> None:
    """The servers soon know of no scan of a table, because each was closed and not because it was forgotten.

    One closed while a server reads for it is known, as number -1, until that looks through its sessions again: every
    second here. One that nobody closed keeps its number until it has been idle for two.
    """
    deadline = time.monotonic() + 30
    while True:
        scans = list_scan_sessions(connection, [table])
        assert not [scan for scan in scans if not scan.is_closed and scan.state == "IDLE" and scan.idle_millis > 1900]
        if not scans:
            return
        assert time.monotonic() < deadline, scans
        time.sleep(0.1)
