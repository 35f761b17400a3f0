"""Processes of one machine see locks on files, and whether another process still lives.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchfloor.schema.errors import OperatorError
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.runtime.process_identity import ProcessIdentity, name_this_process

BUSY = OperatorError("another one is at work")


def test_a_lock_is_held_by_one_at_a_time_and_then_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "run/lock"
    with hold_file_lock(path, BUSY):
        started = time.monotonic()
        with pytest.raises(OperatorError, match="another one is at work"), hold_file_lock(path, BUSY, seconds=0.3):
            pass
        assert 0.3 <= time.monotonic() - started < 5
    with hold_file_lock(path, BUSY):
        pass


def test_a_process_is_known_by_its_pid_and_its_start() -> None:
    this = ProcessIdentity.of_pid()
    process = this.find_process()
    assert process is not None
    assert process.pid == os.getpid()
    assert name_this_process() == f"{this.host}:{this.pid}"
    assert not this.is_gone()
    another = dataclasses.replace(this, started=time.time() - 1e6)
    assert another.find_process() is None
    assert another.is_gone()
    assert not dataclasses.replace(another, started=None).is_gone()
    assert not dataclasses.replace(another, host="elsewhere").is_gone()


def test_a_process_that_has_ended_is_gone_though_nobody_has_waited_for_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = ProcessIdentity.of_pid(child.pid)
    assert not identity.is_gone()
    assert child.stdin is not None
    child.stdin.close()
    deadline = time.monotonic() + 10
    while not identity.is_gone() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert identity.is_gone()
    child.wait()
    assert identity.is_gone()
    assert identity.find_process() is None
