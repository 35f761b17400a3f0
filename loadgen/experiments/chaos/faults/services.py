"""The processes of a run beside the stack's servers: ``watchfloor`` commands that are started again when they end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from watchfloor.schema.settings.settings import Settings

_ITEM_BYTES = 300_000
"""The size of work items: a file has some, so that a fault meets the beginning and the end of many."""
_STOP_SECONDS = 30


@dataclass
class Service:
    """One command that runs again and again. ``next_start`` is when it may be started, if it does not run."""

    name: str
    arguments: Sequence[str]
    log: Path
    pause: float = 0.0
    process: psutil.Popen | None = None
    next_start: float = field(default_factory=time.time)
    last_status: int | None = None


class Services:
    """Starts the services and keeps them running. Threads may share it."""

    def __init__(self, settings: Settings, log_folder: Path) -> None:
        self._log_folder = log_folder
        self._lock = threading.Lock()
        self._services: dict[str, Service] = {}
        self._environment = {
            **os.environ,
            "WATCHFLOOR_HOME": str(settings.home),
            "WATCHFLOOR_TOPIC": settings.topic,
            "WATCHFLOOR_GROUP": settings.group,
            "WATCHFLOOR_ITEM_BYTES": str(_ITEM_BYTES),
            "PYTHONUNBUFFERED": "1",
        }
        self.worker_modes: dict[int, str] = {}
        """The mode, ``live`` or ``bulk``, of each worker that was ever seen, by its pid."""

    def add(self, name: str, *arguments: str, pause: float = 0.0) -> None:
        """Adds a service, ``watchfloor ARGUMENTS``. It is started again ``pause`` seconds after it has ended."""
        log = self._log_folder / f"{name.replace(' ', '-')}.log"
        with self._lock:
            self._services[name] = Service(name, arguments, log, pause)

    def start_ended(self) -> None:
        """Starts the services that do not run and may be started."""
        with self._lock:
            for service in self._services.values():
                if service.process is not None and service.process.poll() is not None:
                    service.last_status, service.process = service.process.returncode, None
                    service.next_start = max(service.next_start, time.time() + service.pause)
                if service.process is None and time.time() >= service.next_start:
                    service.process = self._start_process(service.arguments, service.log)
                if service.process is not None and service.name.startswith("pool "):
                    with suppress(psutil.Error):
                        pids = [child.pid for child in service.process.children()]
                        self.worker_modes.update(dict.fromkeys(pids, service.name.removeprefix("pool ")))

    def hold(self, name: str, until: float) -> None:
        """Makes a service that ends stay down until a time."""
        with self._lock:
            if name in self._services:
                self._services[name].next_start = until

    def find_process(self, name: str) -> psutil.Process | None:
        """Returns the process of a service, or of the worker of a pool; None if it does not run."""
        pool = name.replace("worker", "pool")
        with self._lock:
            service = self._services.get(pool)
            process = None if service is None else service.process
        if process is None or process.poll() is not None:
            return None
        if pool == name:
            return process
        try:
            workers = [child for child in process.children() if _is_running(child)]
        except psutil.Error:
            return None
        return workers[0] if workers else None

    def run_command(self, log: str, *arguments: str, seconds: float) -> int:
        """Runs ``watchfloor ARGUMENTS`` to its end and returns its exit status; -1 if it takes longer."""
        process = self._start_process(arguments, self._log_folder / f"{log}.log")
        try:
            return int(process.wait(seconds))
        except psutil.TimeoutExpired:
            process.kill()
            process.wait()
            return -1

    def remove(self, *names: str) -> None:
        """Stops services, in order if they end in time, and forgets them."""
        with self._lock:
            gone = [service for name in names if (service := self._services.pop(name, None)) is not None]
        processes = [service.process for service in gone if service.process is not None]
        for process in processes:
            process.terminate()
        _, alive = psutil.wait_procs(processes, timeout=_STOP_SECONDS)
        for left in alive:
            left.kill()
        psutil.wait_procs(alive, timeout=_STOP_SECONDS)

    def stop(self) -> None:
        """Stops all services."""
        self.remove(*self._services)

    def _start_process(self, arguments: Sequence[str], log: Path) -> psutil.Popen:
        command = [sys.executable, "-m", "watchfloor.api.cli.main", *arguments]
        with log.open("ab") as out:
            return psutil.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self._environment, start_new_session=True
            )


def _is_running(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
