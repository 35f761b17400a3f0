"""All processes that faults hit, by name: where each one is, whether it is well, and its restart when it has ended."""

from __future__ import annotations

import threading
import time

import psutil

from watchfloor.loadgen.experiments.chaos.answers.rest_client import RestClient
from watchfloor.loadgen.harness.session import print_progress
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.stack.servers.stack_servers import make_servers
from watchfloor.store.stack.supervision.supervised import SUPERVISOR, supervisor_process

from .services import Services

_LOOK_SECONDS = 0.5
_UP_SECONDS = 180
_STOPPED = psutil.STATUS_STOPPED


class Processes:
    """The stack's servers and the services.

    In its context, threads start again what has ended, where neither the supervisor nor a pool does.
    """

    def __init__(self, settings: Settings, services: Services, rest: RestClient | None = None) -> None:
        self._settings, self._services, self._rest = settings, services, rest
        state = load_state(settings)
        assert state is not None
        supervised = (*make_servers(settings, state).all, supervisor_process(settings))
        self._servers = {server.name: server for server in supervised}
        self._held: dict[str, float] = {}
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=keep, daemon=True) for keep in (self._keep_servers, self._keep_services)
        ]

    def __enter__(self) -> Processes:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def find_process(self, name: str) -> psutil.Process | None:
        """Returns the process; None if it does not run."""
        server = self._servers.get(name)
        return self._services.find_process(name) if server is None else find_process(server.pid_file)

    def hold(self, name: str, until: float) -> None:
        """Makes a process that ends stay down until a time, if it is this object that starts it again."""
        self._held[name] = until
        self._services.hold(name, until)

    def is_well(self, name: str) -> bool:
        """Returns within seconds whether the process runs, and answers if it is one that is asked."""
        process = self.find_process(name)
        try:
            if process is None or process.status() == _STOPPED:
                # A compaction comes to its end by itself.
                return name == "compaction" and process is None
        except psutil.Error:
            return False
        server = self._servers.get(name)
        if server is not None:
            return server.is_ready(server.port)
        return self._rest.is_healthy() if name == "serve" and self._rest else True

    def list_unwell(self) -> list[str]:
        """Returns the names of the servers that do not run or do not answer."""
        return [name for name in self._servers if not self.is_well(name)]

    def _keep_servers(self) -> None:
        """Runs ``up`` when the supervisor has ended, which nobody else starts, and need not stay down any longer."""
        while not self._ended.wait(_LOOK_SECONDS):
            if self.find_process(SUPERVISOR) is None and self._held.get(SUPERVISOR, 0.0) <= time.time():
                status = self._services.run_command("up", "up", seconds=_UP_SECONDS)
                if status:
                    print_progress(f"  `up` ended with status {status}; trying again")

    def _keep_services(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self._services.start_ended()
