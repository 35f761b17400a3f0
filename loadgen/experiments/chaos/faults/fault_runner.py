"""Runs a plan of faults, watches the recovery from each, and writes the history of both as JSON lines."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from watchfloor.loadgen.harness.session import print_progress

from .fault_plan import Fault
from .processes import Processes

_TICK = 0.05
_LOOK_SECONDS = 0.5
_PAUSES = ("short pause", "long pause")
_WAKING = 1.0
"""Seconds after the end of a pause from which on a process that still runs counts as well: one that finds that it was
given up while it was paused ends itself at once."""


@dataclass
class FaultRecord:
    """One fault that was injected. Times are epoch seconds; None: not yet.

    ``well`` is when all of its processes ran and answered again. ``recovered`` is when, in addition, a work item had
    become durable and a question that was asked after that had its complete answer.
    """

    fault: Fault
    pids: list[int]
    began: float
    ended: float | None = None
    well: float | None = None
    ingested: float | None = None
    recovered: float | None = None
    paused: list[psutil.Process] = field(default_factory=list)

    @property
    def recovery_seconds(self) -> float | None:
        """The seconds from the beginning of the fault until all work went on."""
        return None if self.recovered is None else self.recovered - self.began

    def to_json(self) -> dict[str, Any]:
        """Returns the line of the history."""
        seconds = {
            f"{name}_after": None if at is None else round(at - self.began, 3)
            for name, at in (("well", self.well), ("ingested", self.ingested), ("recovered", self.recovered))
        }
        return {
            "number": self.fault.number,
            "time": round(self.began, 3),
            "fault": self.fault.action,
            "process": self.fault.process,
            "duration": self.fault.seconds,
            "planned_at": self.fault.at,
            "pids": self.pids,
            **seconds,
        }


class FaultRunner:
    """Injects the faults of a plan, each at its time, in a thread. Another thread watches for recoveries.

    ``last_end`` and ``last_answer`` return when the latest item became done, and when the latest question that was
    answered had been asked.
    """

    def __init__(
        self,
        processes: Processes,
        plan: Sequence[Fault],
        history: Path,
        last_end: Callable[[], float],
        last_answer: Callable[[], float],
    ) -> None:
        self._processes, self._plan, self._history = processes, plan, history
        self._last_end, self._last_answer = last_end, last_answer
        self._records: list[FaultRecord] = []
        self.skipped = 0
        """The number of faults whose process did not run when it was to be hit."""
        self._stop = threading.Event()
        self._injector = threading.Thread(target=self._inject_all, daemon=True)
        self._observer = threading.Thread(target=self._observe, daemon=True)

    def __enter__(self) -> FaultRunner:
        self._injector.start()
        self._observer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends all pauses, and writes the whole history."""
        self._stop.set()
        self._injector.join()
        self._observer.join()
        for record in self._records:
            self._end_fault(record)
        lines = [json.dumps(record.to_json()) for record in self._records]
        self._history.write_text("".join(line + "\n" for line in lines))

    @property
    def records(self) -> list[FaultRecord]:
        return list(self._records)

    @property
    def is_over(self) -> bool:
        """True if all faults were injected and their pauses have ended."""
        return not self._injector.is_alive()

    def list_open(self) -> list[FaultRecord]:
        """Returns the faults that nobody has seen recovered yet."""
        return [record for record in self._records if record.recovered is None]

    def _inject_all(self) -> None:
        beginning = time.time()
        waiting = list(self._plan)
        while not self._stop.is_set() and (waiting or any(record.ended is None for record in self._records)):
            now = time.time()
            while waiting and beginning + waiting[0].at <= now:
                self._begin_fault(waiting.pop(0))
            for record in self._records:
                if record.ended is None and now >= record.began + record.fault.seconds:
                    self._end_fault(record)
            time.sleep(_TICK)

    def _begin_fault(self, fault: Fault) -> None:
        """Sends the signal to all processes of a fault that run."""
        found = {name: self._processes.find_process(name) for name in fault.processes}
        hit = {name: process for name, process in found.items() if process is not None}
        if not hit:
            self.skipped += 1
            return
        now = time.time()
        number = {"kill": signal.SIGKILL, "restart": signal.SIGTERM}.get(fault.action, signal.SIGSTOP)
        for name, process in hit.items():
            if number != signal.SIGSTOP:
                self._processes.hold(name, now + fault.seconds)
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        record = FaultRecord(fault, [process.pid for process in hit.values()], now)
        if fault.action in _PAUSES:
            record.paused = list(hit.values())
        self._records.append(record)
        print_progress(f"  {fault.number:3d} {fault.action} of {fault.process}, {fault.seconds:.1f} s")

    def _end_fault(self, record: FaultRecord) -> None:
        for process in record.paused:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
        record.paused = []
        record.ended = record.ended or time.time()

    def _observe(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            for record in self.list_open():
                self._look_for_recovery(record)

    def _look_for_recovery(self, record: FaultRecord) -> None:
        """Notes how far the work has come since the end of a fault."""
        if record.ended is None or time.time() < record.ended + _WAKING:
            return
        if record.well is None:
            if not all(map(self._processes.is_well, record.fault.processes)):
                return
            record.well = time.time()
        if record.ingested is None:
            if self._last_end() < record.well:
                return
            record.ingested = time.time()
        if self._last_answer() >= record.well:
            record.recovered = time.time()
