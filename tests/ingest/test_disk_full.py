"""Ingest on a disk that fills up: workers pause before it is full, nothing is lost when it is, and one ``up`` repairs.

The stack's folder is on a small file system of its own, which takes the right to mount one.

In `make soak`: a stack of its own, whose servers die and come back.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run_command
from ingest_support import counts, exactly, ledger_rows, load, log_file, own, source, wait_for, workers_of
from own_stack import stack_folder
from served import AnyToken
from small_disk import count_free, fill_disk, mount_small_disk

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.base.problems import problem_type
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.ingest.backup.export import export_sources
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.load_result import LoadProgress
from watchfloor.ingest.worker.claim import STALE_SECONDS
from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import MIB, Settings
from watchfloor.store.stack.stack import read_status, start_stack
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak]
# So many that a load is not over before the disk is full.
LINES = 240_000
RESERVE = 80 * MIB


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    folder = tmp_path_factory.mktemp("small")
    with mount_small_disk(folder / "disk", 512 * MIB) as disk, stack_folder(disk) as plain:
        small = replace(plain, tserver_heap="256m", tserver_maps="64m", kafka_heap="256m", disk_reserve=RESERVE)
        start_stack(small)
        yield small


def begin_load(load: Load) -> Iterator[LoadProgress]:
    """Returns the progress of a load of which workers have read a tenth."""
    progress = iter(load)
    for now in progress:
        if now.phase == "loading" and now.events > LINES // 10:
            break
    return progress


def test_workers_pause_below_the_reserve_and_go_on_by_themselves(settings: Settings, tmp_path: Path) -> None:
    mine, kind = own(settings, "reserve"), source("reserve")
    with Store.open(settings) as store:
        store.catalog.register(kind)
        load = Load(mine, [log_file(tmp_path / "a.log", LINES)], kind.name, workers=2)
        progress = begin_load(load)
        workers = workers_of(settings)
        for worker in workers:
            worker.suspend()  # else the load may be over before the disk is full
        with fill_disk(settings.home.parent, leave=RESERVE - 2 * MIB) as fill:
            for worker in workers:
                worker.resume()
            for now in progress:
                if now.problem:
                    break
                fill()  # a server may have deleted a log
            assert "MiB are free, ingest pauses below 80 MiB (disk_reserve)" in now.problem
            assert any("is nearly full" in problem for problem in read_status(settings).problems)
            lines: list[str] = []
            start_stack(settings, report=lines.append)
            assert "is nearly full" in lines[0] and lines[1] == "the stack is running already"
            time.sleep(2)  # chunks that were under way
            before = (next(progress).events, time.monotonic())
            while time.monotonic() - before[1] < STALE_SECONDS + 4:
                now = next(progress)
            assert now.events == before[0] < LINES
            assert any(row.state == "queued" for row in ledger_rows(store, tmp_path / "a.log"))
        for _ in progress:
            pass
        assert (load.result.events, load.result.quarantined, load.result.failed) == (LINES, 0, ())
        assert {row.attempts for row in ledger_rows(store, tmp_path / "a.log")} == {1}
        assert counts(store, kind) == exactly(kind, LINES)
    log = (settings.home / "log" / "load.log").read_text()
    # Each worker says so once; the second may have come too late to have paused.
    assert 1 <= log.count("pausing: the disk of") == log.count("there is room on the disk again") <= 2


def test_nothing_else_is_written_below_the_reserve(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each write is refused, and what is there can be read, and removed."""
    monkeypatch.setenv("WATCHFLOOR_DISK_RESERVE", str(RESERVE))
    mine, kind = own(settings, "below"), source("below")
    values, definition = tmp_path / "hosts.txt", tmp_path / "other.json"
    values.write_text("10.0.0.1\n")
    definition.write_text(json.dumps({**kind.definition, "name": f"{kind.name}2"}))
    backup = tmp_path / "backup"
    with Store.open(settings) as store:
        store.catalog.register(kind)
        load(mine, log_file(tmp_path / "a.log", 500), feed=kind.name)
        export_sources(store, [kind.name], backup)
    assert run_command(settings, "lists", "put", "below", str(values))[0] == 0
    writes: dict[str, tuple[str, ...]] = {
        "lists": ("put", "above", str(values)),
        "compact": (kind.name,),
        "quarantine": ("retry",),
        "sources": ("add", str(definition)),
        "import": (str(backup), "--as", f"{kind.name}3"),
    }
    services = StoreServices(settings)
    client = create_app(services, AnyToken(), RestLimits()).test_client()
    bearer = {"Authorization": "Bearer admin"}
    with fill_disk(settings.home.parent, leave=RESERVE - 2 * MIB):
        for command, arguments in writes.items():
            status, _, said = run_command(settings, command, *arguments)
            assert (status, "80 MiB (disk_reserve) must stay free: free some space" in said) == (3, True), (
                command,
                said,
            )
        for method, path, body in (
            ("PUT", "lists/above", {"text": "10.0.0.1"}),
            ("PUT", "searches/above", {"source": kind.name}),
            ("POST", "quarantine/retry", {}),
        ):
            refused = client.open(f"/api/v1/{path}", method=method, json=body, headers=bearer)
            assert (refused.status_code, refused.json["type"]) == (507, problem_type("no-room")), refused.text
        assert run_command(settings, "count", kind.name)[1].split() == ["500"]
        found = client.post("/api/v1/query", json={"source": kind.name, "limit": 5}, headers=bearer)
        assert len(found.text.splitlines()) == 6
        assert run_command(settings, "lists", "remove", "below")[0] == 0
    services.close()
    with Store.open(settings) as store:
        assert not {f"{kind.name}2", f"{kind.name}3"} & store.catalog.read_sources().keys()
    assert run_command(settings, "lists", "put", "above", str(values))[0] == 0


def test_a_full_disk_loses_nothing_and_one_up_repairs(settings: Settings, tmp_path: Path) -> None:
    mine, kind = own(settings, "full"), source("full")
    with Store.open(settings) as store:
        store.catalog.register(kind)
    load = Load(mine, [log_file(tmp_path / "b.log", LINES)], kind.name, workers=2)
    progress = begin_load(load)
    with fill_disk(settings.home.parent):
        wait_for(lambda: any(server.state == "died" for server in read_status(settings).servers), 120)
        found = read_status(settings)
        assert "0 MiB are free" in found.problems[0] and "free some space" in found.problems[0]
        for _ in range(2):
            with pytest.raises(StackError, match=r"the disk is full: .* free some space, then run `watchfloor up`"):
                start_stack(settings)
        assert count_free(settings.home) < MIB
    start_stack(settings)
    assert read_status(settings).problems == ()
    for _ in progress:
        pass
    assert (load.result.events, load.result.quarantined, load.result.failed) == (LINES, 0, ())
    with Store.open(settings) as store:
        assert counts(store, kind) == exactly(kind, LINES)
