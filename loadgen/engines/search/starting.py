"""Waits for the server of another engine, which was started for a measurement."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from watchfloor.schema.errors import StackError

_PAUSE_SECONDS = 0.05


def wait_until_up(
    name: str, process: subprocess.Popen[bytes], output: Path, is_up: Callable[[], bool], seconds: int
) -> None:
    """Returns once the server answers.

    Raises ``StackError`` with the end of its output if it ends, or does not answer within ``seconds``.
    """
    until = time.monotonic() + seconds
    while not is_up():
        ended = process.poll()
        if ended is not None or time.monotonic() > until:
            why = f"did not answer within {seconds} s" if ended is None else f"ended with {ended}"
            raise StackError(f"{name} {why}\n{output.read_text(errors='replace')[-2000:]}")
        time.sleep(_PAUSE_SECONDS)
