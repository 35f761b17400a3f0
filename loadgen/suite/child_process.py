"""A child process that is listened to, and that is stopped in order when whoever listens is interrupted."""

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
"""Until a child that was interrupted has removed what it made, and stopped a stack of its own, or is killed."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_child(command: Sequence[str], env: Mapping[str, str], log: Path, heard: Callable[[str], None]) -> int:
    """Its exit status. All that it says goes to ``log``, and each line of its standard error to ``heard`` at once.

    The child has a session of its own: a Ctrl-C is for this process, which hands it on and waits.
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
    """Ends a child and all that it left in its session; what it said meanwhile."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=_STOP_SECONDS)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[1]


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal raise ``KeyboardInterrupt``, the first of them alone.

    Those that come while the block's own ``finally`` clauses stop servers have no effect on that.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        print_progress(f"{signal.Signals(number).name}: stopping what was started")
        raise KeyboardInterrupt

    # A closed terminal that is ignored, as by `nohup`, stays so. SIGINT, which a shell has its background jobs ignore,
    # does not: children would inherit that, and could not be ended in order.
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
