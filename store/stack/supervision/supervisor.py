"""The supervisor of a stack: starts each server again that has ended, sooner or later by how often that happens.

``up`` starts it as ``python -m watchfloor.store.stack.supervision.supervisor`` with the stack's settings on standard
input. It looks every half second. A server that is stopped (SIGSTOP) or does not answer is left alone: what it has in
memory may still be written, and whether it is slow or stuck cannot be told from outside. Servers do not end with it.
While nothing else runs it also has the costs of reading measured, once (``calibration_start.py``).

``up`` and ``down`` hold the stack's lock for as long as they work. The supervisor starts nothing without that lock, so
it neither starts what they are stopping nor what they start.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from watchfloor.schema.errors import StackError, WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.checks import check_ports, check_room_for_servers
from watchfloor.store.stack.home.stack_lock import StackBusyError, hold_stack_lock
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.stack.servers.calibrator import read_rules
from watchfloor.store.stack.servers.process import (
    Server,
    describe_end,
    find_process,
    read_identity,
    read_log_tail,
    start_server,
)
from watchfloor.store.stack.servers.stack_servers import make_servers

from .calibration_start import CalibrationStart
from .restarts import LONG_LIFE, ServerRestarts, load_restarts, save_restarts
from .supervised import supervisor_process

_LOOK_SECONDS = 0.5
_PORT_SECONDS = 1.0
_LOG_BYTES = 1 << 20
log = logging.getLogger("watchfloor.supervisor")


class Supervisor:
    """Keeps the servers of one stack running; call ``restart_dead`` about twice a second."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._restarts = load_restarts(settings)
        self._due: dict[str, float] = {}

    def restart_dead(self) -> None:
        """Starts the servers that have ended and are due, unless ``up`` or ``down`` is at work.

        Raises ``StackError`` if something stands in the way of all servers.
        """
        dead = self._list_dead()
        self._note_life({server.name for server in dead})
        if not dead:
            return
        with suppress(StackBusyError), hold_stack_lock(self._settings, 0):
            # Before this process had the lock, an ``up`` or ``down`` may have ended.
            for server in self._list_dead():
                self._restart(server)

    def _list_dead(self) -> list[Server]:
        """Returns the servers of the stack that do not run, in the order in which they are started."""
        state = load_state(self._settings)
        if state is None or not state.prepared:
            return []
        dead = {name for name in state.server_names if find_process(self._pid_file(name)) is None}
        return [server for server in make_servers(self._settings, state).all if server.name in dead] if dead else []

    def _restart(self, server: Server) -> None:
        """Notes a server's death, and starts the server if it is due."""
        if server.name not in self._due:
            self._note_death(server)
        if self._due[server.name] > time.monotonic():
            return
        check_room_for_servers(self._settings.home)
        try:
            check_ports(server.ports, _PORT_SECONDS)
            start_server(server)
        except (StackError, OSError) as error:
            self._save_death(server.name, 0.0, f"could not be started: {error}")
            return
        del self._due[server.name]
        entry = self._restarts[server.name]
        self._save(server.name, dataclasses.replace(entry, count=entry.count + 1))
        log.warning("%s: started again, restart %d", server.name, entry.count + 1)

    def _note_death(self, server: Server) -> None:
        """Records the death of a server that ran, or that ``up`` has not come to start."""
        last = read_identity(server.pid_file)
        lived = time.time() - (last.started or 0.0) if last else 0.0
        how = describe_end(last.pid) if last else "was not started"
        self._save_death(server.name, lived, how + read_log_tail(server))

    def _save_death(self, name: str, lived: float, reason: str) -> None:
        """Records a death, or a start that failed, and sets the time of the next start."""
        entry = self._restarts.get(name, ServerRestarts()).add_death(lived, time.time(), reason)
        self._due[name] = time.monotonic() + entry.delay
        log.error("%s: lived %.1f s, next start in %.0f s: %s", name, lived, entry.delay, reason)
        self._save(name, entry)

    def _note_life(self, dead: set[str]) -> None:
        """Ends the count of deaths in a row of each server that has lived long."""
        self._due = {name: due for name, due in self._due.items() if name in dead}
        for name, entry in list(self._restarts.items()):
            if entry.deaths and name not in dead:
                last = read_identity(self._pid_file(name))
                if last and time.time() - (last.started or 0.0) >= LONG_LIFE:
                    self._save(name, dataclasses.replace(entry, deaths=0))

    def _save(self, name: str, entry: ServerRestarts) -> None:
        self._restarts[name] = entry
        save_restarts(self._settings, self._restarts)

    def _pid_file(self, name: str) -> Path:
        return self._settings.home / "run" / f"{name}.json"


def supervise(settings: Settings, stop: threading.Event) -> None:
    """Keeps the servers running until ``stop`` is set, or until the pid file no longer names this process."""
    supervisor, calibration = Supervisor(settings), CalibrationStart(settings, read_rules())
    own, obstacle = supervisor_process(settings).pid_file, ""
    while not stop.wait(_LOOK_SECONDS):
        process = find_process(own)
        if process is None or process.pid != os.getpid():
            log.warning("%s does not name this supervisor: it ends", own)
            return
        before, obstacle = obstacle, ""
        try:
            supervisor.restart_dead()
            calibration.start_if_due()
        except WatchfloorError as error:
            obstacle = str(error)
            if obstacle != before:
                log.error("nothing can be started: %s", obstacle)
        except Exception as error:
            obstacle = repr(error)
            if obstacle != before:
                log.exception("a look at the servers failed")


def main() -> None:
    """Runs as the supervisor of the stack whose settings come on standard input, until SIGTERM."""
    settings: Settings = pickle.load(sys.stdin.buffer)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    handler = RotatingFileHandler(supervisor_process(settings).log_file, maxBytes=_LOG_BYTES, backupCount=2)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-5s %(message)s", handlers=[handler])
    # A full disk must not fill NAME.out with reports that a line could not be logged.
    logging.raiseExceptions = False
    log.info("supervising the stack in %s", settings.home)
    supervise(settings, stop)


if __name__ == "__main__":
    main()
