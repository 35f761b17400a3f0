"""Starts the measurement of the costs of reading, for the supervisor: once, while the machine is at rest."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import psutil

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.calibration_note import load_note, note_try
from watchfloor.store.stack.home.machine_load import MachineLoad, read_last_query
from watchfloor.store.stack.home.stack_lock import StackBusyError, hold_stack_lock
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.stack.servers.calibrator import CalibrationRules, calibration_process, is_calibrating
from watchfloor.store.stack.servers.process import find_process, start_server

_MOST_DOUBLED = 5
log = logging.getLogger("watchfloor.supervisor")


class CalibrationStart:
    """Decides when to measure; call ``start_if_due`` about twice a second.

    The machine is at rest if its cores are: any load or query keeps some busy, whoever runs it and in whatever process,
    of this stack or not. A service that answers few queries hardly does, so its log of queries is looked at too. Items
    that wait in the queue, while nobody reads them, are the process's own concern.
    """

    def __init__(
        self,
        settings: Settings,
        rules: CalibrationRules,
        count_busy: Callable[[], float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``count_busy`` returns how many cores were busy since the last call."""
        self._settings, self._rules, self._clock = settings, rules, clock
        self._count_busy = count_busy or MachineLoad().count_busy
        self._looks: deque[tuple[float, float]] = deque()
        self._starts = 0
        self._child: psutil.Process | None = None
        self._due = clock() + rules.first_seconds

    def start_if_due(self) -> None:
        """Starts the process if the costs are not known, the time has come and the machine is at rest.

        Raises ``StackError`` if it cannot be started.
        """
        now = self._clock()
        self._looks.append((now, self._count_busy()))
        while len(self._looks) > 1 and now - self._looks[1][0] >= self._rules.quiet_seconds:
            self._looks.popleft()
        self._let_go()
        if now < self._due or not self._is_at_rest(now):
            return
        if is_calibrating(self._settings) or not self._is_wanted():
            self._postpone(now)
            return
        with suppress(StackBusyError), hold_stack_lock(self._settings, 0):
            # Before this process had the lock, an ``up`` or ``down`` may have ended.
            if self._is_wanted() and not is_calibrating(self._settings):
                self._starts += 1
                self._postpone(now)
                log.info("measuring what reading costs, try %d", self._starts)
                note_try(self._settings)
                start_server(process := calibration_process(self._settings))
                self._child = find_process(process.pid_file)

    def _let_go(self) -> None:
        """Asks how the process has ended, if it has: the system keeps what has ended until its parent asks."""
        if self._child is not None:
            with suppress(psutil.TimeoutExpired):
                self._child.wait(0)
                self._child = None

    def _is_wanted(self) -> bool:
        state = load_state(self._settings)
        return state is not None and state.prepared and load_note(self._settings).is_due(self._settings, state)

    def _postpone(self, now: float) -> None:
        self._due = now + self._rules.first_seconds * 2 ** min(self._starts, _MOST_DOUBLED)

    def _is_at_rest(self, now: float) -> bool:
        """Returns whether nothing else has been at work for ``quiet_seconds``."""
        if now - self._looks[0][0] < self._rules.quiet_seconds:
            return False
        busy = [cores for _, cores in self._looks][1:]
        is_idle = sum(busy) / len(busy) < self._rules.quiet_cores and max(busy) < self._rules.busy_cores
        return is_idle and time.time() - read_last_query(self._settings) >= self._rules.quiet_seconds
