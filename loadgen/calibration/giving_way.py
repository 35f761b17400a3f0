"""Notices that others have work for the machine or the stack, while the costs of reading are measured."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

import psutil

from watchfloor.ingest.queue.work_queue import queue_lag
from watchfloor.schema.errors import StackError, WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.calibration_note import note_problem
from watchfloor.store.stack.home.machine_load import MachineLoad, read_last_query
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.stack.servers.process import find_process

_LOOK_SECONDS = 0.5
_MOST_SECONDS = 180.0
"""A try that takes so long is stuck."""
_OTHERS = ("worker", "kafka")
"""The beginnings of the names of those servers that have no part in the measurement."""
log = logging.getLogger("watchfloor.calibration")


class GaveWay(Exception):
    """There is other work. The text says which."""


class Onlooker:
    """Looks twice a second for other work. A context manager; ``check`` raises once there is some.

    Any load or query on this machine takes processor time of other processes than the store's servers and this one: of
    a command, a worker, a service. Of few queries that is too little to be told from nothing, and of a load that waits
    it is none: so the services' log of queries and the queue are looked at too. A process that is stuck is ended.
    """

    def __init__(self, settings: Settings, busy_cores: float) -> None:
        self._settings, self._busy_cores = settings, busy_cores
        self._load, self._began = MachineLoad(), time.time()
        self._until = time.monotonic() + _MOST_SECONDS
        self._reason = ""
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        """Begins to look. Raises ``GaveWay`` at once if items wait in the queue."""
        self._load.count_busy(self._list_own())
        self._note(self._look_at_queue())
        self.check()
        threading.Thread(target=self._look_on, name="onlooker", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def check(self) -> None:
        """Raises ``GaveWay`` if there is other work."""
        if self._reason:
            raise GaveWay(self._reason)

    def _look_on(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self._note(self._look_at_cores() or self._look_at_queries() or self._look_at_queue())
            if time.monotonic() > self._until:
                self._end_stuck()

    def _note(self, reason: str) -> None:
        self._reason = self._reason or reason

    def _look_at_cores(self) -> str:
        busy = self._load.count_busy(self._list_own())
        return f"others keep {busy:.1f} cores busy" if busy >= self._busy_cores else ""

    def _look_at_queries(self) -> str:
        return "a service was asked" if read_last_query(self._settings) > self._began else ""

    def _look_at_queue(self) -> str:
        try:
            waiting = queue_lag(self._settings)
        except WatchfloorError as error:
            return f"the queue does not answer: {error}"
        return "a load waits or runs" if waiting else ""

    def _list_own(self) -> Iterator[psutil.Process]:
        """Yields this process and the store's servers."""
        yield psutil.Process()
        with suppress(StackError):
            state = load_state(self._settings)
            for name in state.server_names if state else ():
                if not name.startswith(_OTHERS):
                    with suppress(psutil.Error):
                        if process := find_process(self._settings.home / "run" / f"{name}.json"):
                            yield process

    def _end_stuck(self) -> None:
        problem = f"it took more than {_MOST_SECONDS:.0f} s"
        log.error("%s", problem)
        with suppress(StackError):
            note_problem(self._settings, problem)
        logging.shutdown()
        os._exit(1)
