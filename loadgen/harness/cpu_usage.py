"""Measures processor time: CPU seconds of the servers and workers by kind of thread, as Linux counts them."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import psutil

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.servers.process import find_process

CpuPart = tuple[str, str]
"""A process (``worker``, ``tserver``, ``other servers``, ``machine``) and a kind of its threads."""

PartSeconds = dict[CpuPart, float]
MACHINE: CpuPart = ("machine", "all")
_TICKS = os.sysconf("SC_CLK_TCK")
_JVM_THREADS = ("C1 ", "C2 ", "G1 ", "GC ", "VM ")
_EVERY = 0.25
_IDLE_CORES, _IDLE_SECONDS = 0.1, 0.5


def find_workers() -> list[psutil.Process]:
    """Returns the worker processes that this process has started."""
    found = []
    for process in psutil.Process().children():
        try:
            if "watchfloor.ingest.worker" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def find_servers(settings: Settings) -> dict[str, list[int]]:
    """Returns the pids of the local stack's tablet servers and of all its other servers; empty for a cluster."""
    found: dict[str, list[int]] = {}
    for pid_file in sorted((settings.home / "run").glob("*.json")):
        if process := find_process(pid_file):
            name = "tserver" if pid_file.stem.startswith("tserver") else "other servers"
            found.setdefault(name, []).append(process.pid)
    return found


def await_rest(settings: Settings, seconds: float = 60.0) -> None:
    """Waits until the servers are idle (no compactions, for example), for at most ``seconds``."""
    pids = [pid for group in find_servers(settings).values() for pid in group]
    until = time.monotonic() + seconds
    used = sum(map(read_cpu_seconds, pids))
    while time.monotonic() < until:
        time.sleep(_IDLE_SECONDS)
        before, used = used, sum(map(read_cpu_seconds, pids))
        if used - before < _IDLE_CORES * _IDLE_SECONDS:
            return


class CpuMeter:
    """Samples the processes several times a second while its context lasts; call ``measure_between`` afterwards."""

    def __init__(self, settings: Settings) -> None:
        self._servers = find_servers(settings)
        self._times: list[float] = []
        self._samples: list[PartSeconds] = []
        self._ended: PartSeconds = {}
        """The CPU seconds of workers that have ended, as last sampled."""
        self._alive: dict[int, PartSeconds] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cpu", daemon=True)

    def measure_between(self, since: float, until: float) -> dict[CpuPart, float]:
        """Returns the CPU seconds of each part from ``since`` to ``until``, both in seconds of ``time.time``."""
        parts = dict.fromkeys(part for sample in self._samples for part in sample)
        found = {}
        for part in parts:
            used = [sample.get(part, 0.0) for sample in self._samples]
            first, last = np.interp([since, until], self._times, used)
            found[part] = max(0.0, float(last - first))
        return found

    def __enter__(self) -> CpuMeter:
        self._take_sample()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._take_sample()

    def _run(self) -> None:
        while not self._stop.wait(_EVERY):
            self._take_sample()

    def _take_sample(self) -> None:
        """Adds a sample of the CPU seconds of all parts until now."""
        busy = psutil.cpu_times()
        sample: PartSeconds = {MACHINE: busy.user + busy.nice + busy.system}
        for name, pids in self._servers.items():
            for pid in pids:
                _add_seconds(
                    sample, _read_threads(name, pid) if name == "tserver" else {(name, "all"): read_cpu_seconds(pid)}
                )
        alive = {process.pid: _read_threads("worker", process.pid) for process in find_workers()}
        for pid in self._alive.keys() - alive.keys():
            _add_seconds(self._ended, self._alive[pid])
        self._alive = alive
        for parts in (self._ended, *alive.values()):
            _add_seconds(sample, parts)
        self._times.append(time.time())
        self._samples.append(sample)


def _add_seconds(to: PartSeconds, more: PartSeconds) -> None:
    for part, seconds in more.items():
        to[part] = to.get(part, 0.0) + seconds


def _read_threads(name: str, pid: int) -> PartSeconds:
    """Returns the CPU seconds of a process by kind of thread.

    Threads that have ended count as the kind that does the process's work: a worker starts a thread for each item,
    which parses and encodes.
    """
    found: PartSeconds = {}
    try:
        whole = read_cpu_seconds(pid)
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                thread, seconds = _read_stat(task / "stat")
            except OSError:  # a thread that has just ended; the process may go on
                continue
            if not thread.startswith("python"):
                kind = "compiler and collector" if thread.startswith(_JVM_THREADS) else "Java"
                _add_seconds(found, {(name, kind): seconds})
        left = max(0.0, whole - sum(found.values()))
        _add_seconds(found, {(name, "Python" if name == "worker" else "Java"): left})
    except OSError:  # it has just ended
        pass
    return found


def read_cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds, user and system, of a process until now, to a hundredth; 0 if the process is gone.

    Threads that have ended are included.
    """
    try:
        return _read_stat(Path(f"/proc/{pid}/stat"))[1]
    except OSError:
        return 0.0


def _read_stat(path: Path) -> tuple[str, float]:
    """Returns the name and the CPU seconds (user and system) of a process or a thread."""
    before, _, after = path.read_text(errors="replace").rpartition(")")
    fields = after.split()
    return before.partition("(")[2], (int(fields[11]) + int(fields[12])) / _TICKS
