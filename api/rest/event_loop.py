"""waitress' loop over connections by epoll, in which a connection where nothing happens costs nothing.

waitress asks each connection in each round what it waits for. ``WatchedConnections`` takes the place of its mapping
from file descriptors to connections, so it knows when one opens and closes, and asks again only those that may have
changed: where something happened, and where the thread that answers a request says so.
"""

from __future__ import annotations

import select
import time
from collections import deque
from typing import Any

from waitress import wasyncore

SWEEP_SECONDS = 1.0
"""Seconds after which all connections are asked, as waitress marks those that it will close without further notice."""
READ, WRITE = select.EPOLLIN | select.EPOLLPRI, select.EPOLLOUT


class WatchedConnections(dict[int, Any]):
    """The sockets of a server by file descriptor: connections, listening sockets, and the pipe that wakes the loop.

    Only the thread of the loop changes it. Each is registered with epoll for what it waits for.
    """

    def __init__(self) -> None:
        super().__init__()
        self._epoll = select.epoll()
        self._waits_for: dict[int, int] = {}
        self._unsettled: set[int] = set()
        self._changed: deque[int] = deque()
        self._next_sweep = 0.0

    def __setitem__(self, number: int, connection: Any) -> None:
        super().__setitem__(number, connection)
        self._epoll.register(number, 0)
        self._waits_for[number] = 0
        self._unsettled.add(number)

    def __delitem__(self, number: int) -> None:
        super().__delitem__(number)
        self._epoll.unregister(number)
        del self._waits_for[number]
        self._unsettled.discard(number)

    def is_awaited(self, number: int) -> bool:
        """Returns whether the loop waits for nothing but bytes of a connection. Any thread may call it."""
        return self._waits_for.get(number) == READ

    def note_change(self, number: int) -> None:
        """Has a connection asked what it waits for in the next round. Any thread may call it."""
        self._changed.append(number)

    def handle_events(self, timeout: float) -> None:
        """Waits at most ``timeout`` seconds for events, and lets each connection handle its own."""
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            self._unsettled.update(self)
        while self._changed:
            self._unsettled.add(self._changed.popleft())
        for number in list(self._unsettled):
            # An earlier one of this round may have closed a connection.
            if (connection := self.get(number)) is not None:
                self._update_interest(number, connection)
            else:
                self._unsettled.discard(number)
        for number, events in self._epoll.poll(min(timeout, SWEEP_SECONDS)):
            if (connection := self.get(number)) is not None:
                self._unsettled.add(number)
                wasyncore.readwrite(connection, events)

    def _update_interest(self, number: int, connection: Any) -> None:
        """Asks a connection what it waits for; it is asked again in the next round unless it is at rest."""
        wanted = READ if connection.readable() else 0
        if connection.writable() and not connection.accepting:
            wanted |= WRITE
        if wanted != self._waits_for[number]:
            self._epoll.modify(number, wanted)
            self._waits_for[number] = wanted
        if wanted == READ and not connection.accepting:
            self._unsettled.discard(number)


class EpollLoop:
    """Takes the place of the module ``waitress.wasyncore`` in a server, which calls ``loop``."""

    @staticmethod
    def loop(timeout: float, map: WatchedConnections, use_poll: bool) -> None:
        """Handles events until all connections and listening sockets are closed."""
        while map:
            map.handle_events(timeout)
