"""Samples the tablet servers several times a second while something runs: compactions, held writes, silence."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from watchfloor.schema.errors import StackError, WatchfloorError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.admin.tablet_servers import list_tablet_servers
from watchfloor.store.store import Store

_EVERY = 0.2
_SPREAD_SECONDS = 60.0


@dataclass(frozen=True)
class ServerSample:
    """All tablet servers and tables at one moment, ``at`` in seconds since 1970.

    ``minors`` and ``majors`` count the tablets in a minor and in a major compaction. ``hold_ms`` is the longest time
    for which a server has held up writes until then. ``silent`` counts the servers that did not answer; each of them
    makes the sample last a second longer.
    """

    at: float
    minors: int
    majors: int
    hold_ms: int
    silent: int


class ServerWatch:
    """Collects ``samples`` while its context lasts. Sampling costs a server less than a thousandth of a core."""

    def __init__(self, store: Store) -> None:
        self.samples: list[ServerSample] = []
        self._connection = store.connection
        self._error: WatchfloorError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="server-watch", daemon=True)

    def __enter__(self) -> ServerWatch:
        self._take_sample()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._stop.wait(_EVERY):
                self._take_sample()
        except WatchfloorError as error:
            self._error = error

    def _take_sample(self) -> None:
        began = time.time()
        servers = list_tablet_servers(self._connection)
        self.samples.append(
            ServerSample(
                began,
                sum(server.minors_running for server in servers),
                sum(server.majors_running for server in servers),
                max((server.hold_ms for server in servers), default=0),
                sum(server.is_silent for server in servers),
            )
        )


def await_spread(store: Store, source: Source, servers: int) -> None:
    """Waits until the source's tablets are spread evenly over ``servers`` tablet servers.

    Each server then serves as many of them as any other, or one less. Raises ``StackError`` after a minute.
    """
    until = time.monotonic() + _SPREAD_SECONDS
    while True:
        found = [server for server in list_tablet_servers(store.connection) if not server.is_silent]
        served = {
            table: sorted(server.tables[table].tablets if table in server.tables else 0 for server in found)
            for table in source_tables(source)
        }
        if len(found) == servers and all(
            sum(tablets) == source.shards and tablets[-1] - tablets[0] <= 1 for tablets in served.values()
        ):
            return
        if time.monotonic() > until:
            raise StackError(f"after {_SPREAD_SECONDS:.0f} s the tablets of {source.name} are not spread: {served}")
        time.sleep(_EVERY)
