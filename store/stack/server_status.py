"""The status of the processes of a stack: its servers and their supervisor."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import psutil

from watchfloor.schema.settings.settings import Settings

from .home.stack_state import StackState
from .servers.process import Server, ServerState, find_process, read_state
from .servers.stack_servers import make_servers
from .supervision.restarts import ServerRestarts, load_restarts
from .supervision.supervised import SUPERVISOR, supervisor_process


@dataclass(frozen=True)
class ServerStatus:
    """The status of one server. ``memory`` is its resident bytes, ``uptime`` in seconds; both are 0 if it is down.

    ``heap`` is the size of its heap, with what it keeps beside it of entries not yet in files; 0 if it has none.
    """

    name: str
    state: ServerState
    ports: dict[str, int]
    pid: int = 0
    memory: int = 0
    uptime: float = 0.0
    restarts: ServerRestarts = field(default_factory=ServerRestarts)
    heap: int = 0

    @property
    def problem(self) -> str:
        """The sentence that says what is wrong and what helps; empty if nothing is."""
        if self.name == SUPERVISOR:
            remedy = "nothing starts servers again that die: run `watchfloor up`"
            return "" if self.state == "running" else f"{self.name}: {self.state}; {remedy}"
        if self.restarts.keeps_dying:
            return f"{self.name}: {self.state}; {self.restarts.describe()}"
        return "" if self.state == "running" else f"{self.name}: {self.state}"


def read_server_status(settings: Settings, state: StackState) -> tuple[ServerStatus, ...]:
    """Returns the status of each local process of a stack."""
    restarts = load_restarts(settings)
    processes = [*make_servers(settings, state).all, supervisor_process(settings)]
    if not settings.is_kafka_local:
        processes = [process for process in processes if process.name != "kafka"]
    elif not settings.is_accumulo_local:
        processes = [process for process in processes if process.name == "kafka"]
    with ThreadPoolExecutor(len(processes)) as pool:
        return tuple(
            pool.map(lambda process: _read_status(process, restarts.get(process.name, ServerRestarts())), processes)
        )


def _read_status(server: Server, restarts: ServerRestarts) -> ServerStatus:
    """Returns the status of a process, from the process itself and from its answer on its port."""
    now = read_state(server)
    process = find_process(server.pid_file)
    try:
        if process is not None:
            uptime, memory = time.time() - process.create_time(), process.memory_info().rss
            return ServerStatus(server.name, now, server.ports, process.pid, memory, uptime, restarts, server.memory)
    except psutil.NoSuchProcess:
        now = "died"
    return ServerStatus(server.name, now, server.ports, restarts=restarts, heap=server.memory)
