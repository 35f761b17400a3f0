"""Runs a child process, passes on its messages, and stops it in order when this process is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from watchfloor.loadgen.harness.session import print_progress

_STOP_SECONDS = 120
"""The time that an interrupted child has to remove what it made and to stop a stack of its own, before it is killed."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_child(command: Sequence[str], env: Mapping[str, str], log: Path, heard: Callable[[str], None]) -> int:
    """Runs a command and returns its exit status.

    Its whole output goes to ``log``, and each line of its standard error to ``heard`` at once. The child has a session
    of its own: a Ctrl-C reaches this process, which passes it on and waits.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, env=env, start_new_session=True
        )
        assert process.stderr is not None
        try:
            for line in process.stderr:
                out.write(line)
                out.flush()
                heard(line.decode(errors="replace").rstrip())
            return process.wait()
        except BaseException:
            out.write(_stop_child(process))
            raise


def _stop_child(process: subprocess.Popen[bytes]) -> bytes:
    """Interrupts a child and returns its last messages; kills its whole session if it does not end in time."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=_STOP_SECONDS)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[1]


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Raises ``KeyboardInterrupt`` in the block at the first Ctrl-C, SIGTERM or closed terminal.

    Later signals are ignored.


    So a second signal does not cut short the block's own ``finally`` clauses, which stop servers.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        print_progress(f"{signal.Signals(number).name}: stopping what was started")
        raise KeyboardInterrupt

    # If a closed terminal is ignored already, as under `nohup`, that stays so. SIGINT, which shells make background
    # jobs ignore, is handled all the same: otherwise children would ignore it too and could not be ended in order.
    before: dict[signal.Signals, Any] = {s: signal.getsignal(s) for s in _SIGNALS}
    if before[signal.SIGHUP] == signal.SIG_IGN:
        del before[signal.SIGHUP]
    for each in before:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
