"""When the costs of reading are measured: on a machine at rest, if they are not known, and not for ever in vain.

In `make test`: it needs no servers. A small process stands in for the measurement.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home import machine_load
from watchfloor.store.stack.home.calibration_note import (
    MOST_TRIES,
    CalibrationNote,
    load_note,
    note_costs,
    note_giving_way,
    note_problem,
    note_try,
    reset_tries,
)
from watchfloor.store.stack.home.home_folder import QUERY_LOG, make_folders
from watchfloor.store.stack.home.machine_load import MachineLoad
from watchfloor.store.stack.home.stack_lock import hold_stack_lock
from watchfloor.store.stack.home.stack_state import StackState, save_state
from watchfloor.store.stack.servers import calibrator
from watchfloor.store.stack.servers.calibrator import (
    CalibrationRules,
    calibration_process,
    describe_costs,
    is_calibrating,
    stop_calibrator,
)
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.stack.supervision import calibration_start
from watchfloor.store.stack.supervision.calibration_start import CalibrationStart

STATE = StackState(prepared=True, calibrates=True, sizes={"tserver_heap": "1024m"})


class Watch:
    """A supervisor's looks on a machine whose clock and busy cores the test tells."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.now, self.busy = settings, 1000.0, 0.1
        self.start = CalibrationStart(settings, CalibrationRules(), lambda: self.busy, lambda: self.now)

    def look(self, seconds: float) -> bool:
        """Looks for so long, until the process runs; returns whether it does."""
        until = self.now + seconds
        while self.now < until and not is_calibrating(self.settings):
            self.now += 0.5
            self.start.start_if_due()
        return is_calibrating(self.settings)

    def kill(self) -> None:
        stop_calibrator(self.settings)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    settings = Settings(home=tmp_path)
    make_folders(settings)
    save_state(settings, STATE)
    sleeping = dataclasses.replace(
        calibration_process(settings), command=(sys.executable, "-S", "-c", "import time; time.sleep(60)"), given=b""
    )
    for module in (calibrator, calibration_start):
        monkeypatch.setattr(module, "calibration_process", lambda _: sleeping)
    yield settings
    stop_calibrator(settings)


@pytest.fixture
def watch(settings: Settings) -> Watch:
    return Watch(settings)


def test_it_begins_a_minute_after_the_start(settings: Settings, watch: Watch) -> None:
    assert not watch.look(59)
    assert watch.look(2) and load_note(settings).tries == 1
    assert describe_costs(settings, STATE) == "the built-in ones; they are being measured"


def test_it_waits_until_the_machine_is_at_rest(watch: Watch) -> None:
    watch.busy = 0.4
    assert not watch.look(300)
    watch.busy = 2.0
    assert not watch.look(0.5)
    watch.busy = 0.0
    assert not watch.look(9), "something was at work for half a second"
    assert watch.look(2)


def test_a_query_counts_though_it_takes_no_time(settings: Settings, watch: Watch) -> None:
    log = settings.home / QUERY_LOG
    log.parent.mkdir()
    log.touch()
    assert not watch.look(120)
    os.utime(log, (log.stat().st_mtime - 11,) * 2)
    assert watch.look(1)


@pytest.mark.parametrize(
    "state",
    [
        dataclasses.replace(STATE, calibrates=False),
        dataclasses.replace(STATE, prepared=False),
    ],
    ids=("off", "not set up"),
)
def test_not_every_stack_is_measured(settings: Settings, watch: Watch, state: StackState) -> None:
    save_state(settings, state)
    assert not watch.look(600)


def test_costs_are_measured_once_for_a_machine(settings: Settings, watch: Watch) -> None:
    assert watch.look(100)
    watch.kill()
    note_costs(settings, STATE)
    assert not watch.look(10_000)
    assert describe_costs(settings, STATE).startswith("measured 20")
    for sizes in ("600m", "1900m"):
        assert load_note(settings).fits(settings, dataclasses.replace(STATE, sizes={"tserver_heap": sizes}))
    larger = dataclasses.replace(STATE, sizes={"tserver_heap": "4096m"})
    more = dataclasses.replace(STATE, tservers=2)
    for state in (larger, more):
        assert load_note(settings).is_due(settings, state)
        assert describe_costs(settings, state).endswith(
            "with other cores, tablet servers or heaps; they are measured when the machine is at rest"
        )
    save_state(settings, more)
    assert watch.look(10_000)


def test_what_fails_is_tried_a_few_times_only(settings: Settings, watch: Watch) -> None:
    began = []
    while watch.look(100_000):
        began.append(watch.now)
        watch.kill()
    assert len(began) == MOST_TRIES
    assert began[1] - began[0] > 100 and began[2] - began[1] > 200
    assert describe_costs(settings, STATE) == (
        "the built-in ones; measuring them failed 3 times (it was killed), see log/calibration.log"
    )
    note_problem(settings, "the store does not answer")
    assert "(the store does not answer)" in describe_costs(settings, STATE)
    reset_tries(settings)
    assert describe_costs(settings, STATE) == "the built-in ones; they are measured when the machine is at rest"
    assert watch.look(10_000), "the next `up` tries again"


def test_giving_way_does_not_count(settings: Settings, watch: Watch) -> None:
    for _ in range(3 * MOST_TRIES):
        assert watch.look(10_000)
        watch.kill()
        note_giving_way(settings)
    assert load_note(settings) == CalibrationNote()


def test_it_starts_nothing_while_up_or_down_is_at_work(settings: Settings, watch: Watch) -> None:
    with hold_stack_lock(settings, 0):
        assert not watch.look(200)
    assert watch.look(1)


def test_a_damaged_note_says_nothing(settings: Settings) -> None:
    note_try(settings)
    path = settings.conf_folder / "calibration.json"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("{")
    assert load_note(settings) == CalibrationNote()


def test_a_stack_without_calibration_names_the_command(settings: Settings) -> None:
    state = dataclasses.replace(STATE, calibrates=False)
    assert describe_costs(settings, state) == "the built-in ones; `watchfloor calibrate` measures them"


def test_a_stopped_process_is_gone(settings: Settings, watch: Watch) -> None:
    assert watch.look(100)
    stop_calibrator(settings)
    assert find_process(settings.home / "run/calibration.json") is None


def test_busy_cores_are_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Own processes count from their second look on."""
    now, busy, own = [0.0], [0.0], [0.0]
    monkeypatch.setattr(machine_load.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(machine_load, "_read_busy_seconds", lambda: busy[0])
    process = psutil.Process()
    times = process.cpu_times()
    monkeypatch.setattr(process, "cpu_times", lambda: times._replace(user=own[0], system=0.0))
    load = MachineLoad()
    now[0], busy[0], own[0] = 1.0, 1.5, 5.0
    assert load.count_busy([process]) == pytest.approx(1.5)
    now[0], busy[0], own[0] = 3.0, 4.5, 7.0
    assert load.count_busy([process]) == pytest.approx(0.5)
    now[0], busy[0], own[0] = 4.0, 5.0, 9.0
    assert load.count_busy([process]) == 0.0
    now[0], busy[0] = 5.0, 7.0
    assert load.count_busy() == pytest.approx(2.0)


def test_the_machine_has_busy_cores() -> None:
    assert machine_load._read_busy_seconds() > 0
