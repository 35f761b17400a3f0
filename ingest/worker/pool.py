"""Keeps a pool of worker processes, which are started again when they die.

They are not forked, because a JVM does not survive a fork.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.lean_process import WORKER_ENVIRONMENT
from watchfloor.store.runtime.private_files import make_private_folder, open_private
from watchfloor.store.stack.home.server_sizes import count_cores, share_cores

_FIRST_WAIT, _LAST_WAIT = 0.5, 30.0
_LONG_LIFE = 60.0
"""Seconds of life after which a worker's death no longer counts as quick."""
log = logging.getLogger("watchfloor.pool")


@dataclass
class _WorkerSlot:
    """A place for one worker. ``deaths`` counts its workers' quick deaths in a row."""

    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    deaths: int = 0
    next_start: float = field(default_factory=time.monotonic)


def choose_workers() -> int:
    """Returns the number of workers for the cores that this process may use."""
    return share_cores(count_cores())


class WorkerPool:
    """Keeps ``workers`` processes running; call ``restart_dead`` about every second.

    A context manager that stops them at its end.
    """

    def __init__(self, settings: Settings, workers: int, log_file: Path | None = None) -> None:
        """Workers write their log to ``log_file`` (appended to), or to this process's standard error."""
        self._settings = settings
        self._log_file = log_file
        self._slots = [_WorkerSlot() for _ in range(workers)]

    def restart_dead(self) -> None:
        """Starts the workers that are not running and are due to be started."""
        now = time.monotonic()
        for slot in self._slots:
            if slot.process is not None and slot.process.poll() is not None:
                self._note_death(slot, now)
            if slot.process is None and now >= slot.next_start:
                slot.process, slot.started = self._start_worker(), now

    @property
    def alive(self) -> int:
        """The number of workers that run."""
        return sum(slot.process is not None and slot.process.poll() is None for slot in self._slots)

    @property
    def pids(self) -> list[int]:
        return [slot.process.pid for slot in self._slots if slot.process is not None]

    @property
    def least_deaths(self) -> int:
        """The least number of quick deaths in a row of any slot. A high number means that no worker can run here."""
        return min((slot.deaths for slot in self._slots), default=0)

    def run(self, stop: threading.Event) -> None:
        """Keeps the workers running until ``stop`` is set, then stops them."""
        with self:
            while not stop.is_set():
                self.restart_dead()
                stop.wait(0.5)

    def stop(self, seconds: float = 12.0) -> None:
        """Sends SIGTERM, then SIGKILL to workers that still run after ``seconds``. Other workers read their items."""
        processes = [slot.process for slot in self._slots if slot.process is not None]
        for process in processes:
            process.terminate()
        until = time.monotonic() + seconds
        for process in processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin is not None:
                process.stdin.close()
        for slot in self._slots:
            slot.process = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _note_death(self, slot: _WorkerSlot, now: float) -> None:
        """Logs a worker's death, and sets the time of the next start: later after each quick death."""
        assert slot.process is not None
        code = slot.process.returncode
        if slot.process.stdin is not None:
            slot.process.stdin.close()
        slot.deaths = 0 if now - slot.started > _LONG_LIFE else slot.deaths + 1
        wait = min(_FIRST_WAIT * 2 ** max(slot.deaths - 1, 0), _LAST_WAIT)
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        log.error("worker %d died %s; another starts in %.1f s", slot.process.pid, how, wait)
        slot.process, slot.next_start = None, now + wait

    def _start_worker(self) -> subprocess.Popen[bytes]:
        """Starts a worker process and sends it the settings."""
        output: IO[bytes] | None = None
        if self._log_file is not None:
            make_private_folder(self._log_file.parent)
            output = open_private(self._log_file, "ab")
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "watchfloor.ingest.worker"],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                # ^C is for the pool, which then stops its workers in order.
                start_new_session=True,
                env={**WORKER_ENVIRONMENT, **os.environ},
            )
        finally:
            if output is not None:
                output.close()
        assert process.stdin is not None
        try:
            pickle.dump(self._settings, process.stdin)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it died at once; ``restart_dead`` sees that
        return process
