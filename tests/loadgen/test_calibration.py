"""A stack measures what reading costs on it by itself, gives way to a load, and bears being killed and taken down.

In `make soak`: it starts a stack of its own, and measures several times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from ingest_support import counts, exactly, log_file, source, wait_for, worker_here
from own_stack import stack_folder

from watchfloor.ingest.intake.load import Load
from watchfloor.loadgen.commands import calibrate
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import list_tables
from watchfloor.store.stack.home.calibration_note import load_note
from watchfloor.store.stack.servers.calibrator import RULES_VARIABLE, is_calibrating
from watchfloor.store.stack.servers.process import read_identity
from watchfloor.store.stack.stack import read_status, start_stack, stop_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak]
AT_ONCE = {"first_seconds": 0.5, "quiet_seconds": 0.5, "quiet_cores": 1e6, "busy_cores": 1e6}
"""The machine of a test is never at rest."""
LONG, SHORT = 1_000_000, 20_000
LINES = 2_000


@pytest.fixture(scope="module")
def running() -> Iterator[Settings]:
    sizes = {"tserver_heap": "512m", "tserver_maps": "256m", "manager_heap": "128m", "kafka_heap": "256m"}
    with stack_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(RULES_VARIABLE, json.dumps({**AT_ONCE, "events": LONG}))
        settings = replace(folder, standing_workers="0", **sizes)  # type: ignore[arg-type]
        start_stack(settings, small=False)
        yield settings


def list_left(settings: Settings) -> set[str]:
    with Store.open(settings) as store:
        return {table for table in list_tables(store.connection) if table.startswith("Calibration")}


def await_middle(settings: Settings, before: set[str]) -> psutil.Process:
    """Returns the process that measures once it has tables, beside those that there were ``before``."""
    wait_for(lambda: is_calibrating(settings) and list_left(settings) - before)
    identity = read_identity(settings.home / "run/calibration.json")
    process = identity.find_process() if identity else None
    assert process is not None and process.nice() > 0
    return process


def test_it_gives_way_to_a_load_also_after_one_that_was_killed(running: Settings, tmp_path: Path) -> None:
    first = await_middle(running, set())
    assert "they are being measured" in read_status(running).costs
    first.kill()
    wait_for(lambda: not is_calibrating(running))
    left = list_left(running)
    assert left, "it was killed in the middle"
    assert await_middle(running, left).pid != first.pid
    assert not list_left(running) & left
    with Store.open(running) as store:
        kind = store.catalog.register(source("beside_calibration"))
    load = Load(running, [log_file(tmp_path / "a.log", LINES)], kind.name, workers=0)
    with ThreadPoolExecutor(1) as thread:
        loaded = thread.submit(lambda: list(load))
        try:
            wait_for(lambda: not is_calibrating(running))
            assert "gave way: a load waits or runs" in (running.home / "log/calibration.log").read_text()
            assert not list_left(running)
        finally:
            with worker_here(running):
                loaded.result()
    assert (load.result.events, load.result.failed) == (LINES, ())
    with Store.open(running) as store:
        assert counts(store, kind) == exactly(kind, LINES)
        assert not store.catalog.find_costs("block")


def test_down_in_the_middle_ends_it_and_up_goes_on(running: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    process = await_middle(running, set())
    stop_stack(running)
    assert not process.is_running() and not list((running.home / "run").glob("*.json"))
    monkeypatch.setenv(RULES_VARIABLE, json.dumps({**AT_ONCE, "events": SHORT}))
    start_stack(running)
    wait_for(lambda: load_note(running).measured_at and not is_calibrating(running))
    assert not list_left(running)
    with Store.open(running, role="query") as store:
        assert not [name for name in store.catalog.read_sources() if name.startswith("Calibration")]
        for layout in ("block", "cell"):
            costs = store.catalog.find_costs(layout)
            assert costs["scan"] > 0 and costs["row"] > 0 and costs["event"] > 0
    found = read_status(running)
    assert found.is_healthy and found.costs.startswith("measured 20")


def test_up_with_the_setting_off_ends_it(running: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    (running.conf_folder / "calibration.json").unlink()
    stop_supervisor(running)
    monkeypatch.setenv(RULES_VARIABLE, json.dumps({**AT_ONCE, "events": LONG}))
    start_stack(running)
    process = await_middle(running, set())
    start_stack(replace(running, calibration="off"))
    wait_for(lambda: not process.is_running())
    assert read_status(running).costs == "the built-in ones; `watchfloor calibrate` measures them"


def test_the_command_measures_at_once(running: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_left(running)
    monkeypatch.setenv("WATCHFLOOR_HOME", str(running.home))
    assert calibrate.main(["--events", "20000"]) == 0
    assert not list_left(running)
    assert read_status(running).costs.startswith("measured 20")
