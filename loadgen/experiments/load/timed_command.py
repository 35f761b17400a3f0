"""Runs ``watchfloor load FILE`` as a process of its own, and times it from its start to its end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from watchfloor.loadgen.harness.cpu_usage import find_servers, read_cpu_seconds
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StackError, WatchfloorError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import UMASK, open_private
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.store import Store

COMMAND, WORKERS, TSERVERS, OTHERS = "command", "workers", "tablet servers", "other servers"
_SERVERS = {"tserver": TSERVERS, "other servers": OTHERS}
_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class CommandTiming:
    """The times of a command that loaded a file.

    ``seconds`` count from its start to its end, ``first`` to the first events in the hands of whoever asks all the
    time. ``cpu`` has the CPU seconds of each part.
    """

    seconds: float
    first: float
    cpu: Mapping[str, float]


def time_load(settings: Settings, path: Path, source: str, events: int, arguments: list[str]) -> CommandTiming:
    """Loads a file of ``events`` lines into a source that has no events yet.

    Raises ``StackError`` if the command fails, or not all events are there afterwards.
    """
    log = settings.home / "log" / "bench-load.log"
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(settings.home), "load", str(path)]
    queue = {"WATCHFLOOR_TOPIC": settings.topic, "WATCHFLOOR_GROUP": settings.group}
    with Store.open(settings, role="query") as store:
        service = QueryService(store)
        before = _read_servers(settings)
        began = time.monotonic()
        with open_private(log, "wb") as out:
            process = subprocess.Popen(
                [*command, "--source", source, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                umask=UMASK,
                env={**os.environ, **queue},
            )
        with _LoadWatch(service, source, process.pid) as watch:
            _, status, usage = os.wait4(process.pid, 0)
            ended = time.monotonic()
        process.returncode = os.waitstatus_to_exitcode(status)
        after = _read_servers(settings)
        found = service.count_events(source) if process.returncode == 0 else 0
    if found != events:
        text = log.read_text(errors="replace")[-500:]
        raise StackError(f"{show_path(path)}: {found:,} of {events:,} events are there: {text}")
    # The kernel counts ended children that were waited for with their parent: the workers with the command.
    own = usage.ru_utime + usage.ru_stime
    cpu = {COMMAND: own - watch.workers, WORKERS: watch.workers}
    for part in after:
        cpu[part] = cpu.get(part, 0.0) + after[part] - before[part]
    return CommandTiming(ended - began, (watch.first or ended) - began, cpu)


def _read_servers(settings: Settings) -> dict[str, float]:
    """Returns the CPU seconds of the servers until now, by part. The standing workers' are among the workers'."""
    used = {_SERVERS[name]: sum(map(read_cpu_seconds, pids)) for name, pids in find_servers(settings).items()}
    workers = map(find_process, (settings.home / "run").glob("worker*.json"))
    used[WORKERS] = sum(read_cpu_seconds(process.pid) for process in workers if process is not None)
    used[OTHERS] -= used[WORKERS]
    return used


class _LoadWatch:
    """Asks for events of a source until there are some, and looks at the workers of a load, in a thread of its own.

    ``first`` is the moment of the first answer that had events; ``workers`` are the workers' CPU seconds.
    """

    def __init__(self, service: QueryService, source: str, pid: int) -> None:
        self._service, self._request = service, QueryRequest(source, limit=1)
        self._pid = pid
        self._used: dict[int, float] = {}
        self.first: float | None = None
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._ask, self._look)]

    @property
    def workers(self) -> float:
        return sum(self._used.values())

    def _ask(self) -> None:
        while self.first is None and not self._stop.wait(_LOOK_SECONDS):
            with suppress(WatchfloorError):  # the source may not be there yet
                if sum(batch.num_rows for batch in self._service.run(self._request)):
                    self.first = time.monotonic()

    def _look(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            with suppress(psutil.Error):
                for child in psutil.Process(self._pid).children():
                    if "watchfloor.ingest.worker" in child.cmdline():
                        self._used[child.pid] = max(self._used.get(child.pid, 0.0), read_cpu_seconds(child.pid))

    def __enter__(self) -> _LoadWatch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
