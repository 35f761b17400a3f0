"""The reserve on the disk: when ingest pauses, when it goes on, and what is said of it.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from watchfloor.schema.settings.settings import MIB, Settings
from watchfloor.store.runtime import disk_space
from watchfloor.store.runtime.disk_space import DiskGuard, DiskSpace, read_disk_space

RESERVE = 1024 * MIB


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "not" / "there yet", disk_reserve=RESERVE)


def leave(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(disk_space, "count_free_bytes", lambda folder: free)


def test_the_room_is_that_of_the_stacks_folder_and_a_cluster_has_none(settings: Settings) -> None:
    found = read_disk_space(settings)
    assert found is not None and found.free > 0
    assert (found.folder, found.reserve) == (settings.home, RESERVE)
    cluster = Settings(cluster_properties=Path("/client.properties"), kafka_bootstrap="host:1")
    assert read_disk_space(cluster) is None
    assert DiskGuard(cluster, logging.getLogger("quiet")).has_room()


def test_data_on_a_disk_of_its_own_counts_too(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings.home / "data").mkdir(parents=True)
    rooms = {settings.home: 9 * MIB, settings.home / "data": 4 * MIB}
    monkeypatch.setattr(disk_space.shutil, "disk_usage", lambda place: SimpleNamespace(free=rooms[place]))
    assert disk_space.count_free_bytes(settings.home) == 4 * MIB


def test_what_is_said_has_the_numbers_and_the_remedy() -> None:
    told = DiskSpace(Path("/data"), 700 * MIB, RESERVE).describe()
    assert told.startswith("the disk of /data is nearly full: 700 MiB are free, ingest pauses below 1,024 MiB")
    assert "disk_reserve" in told and "nothing is lost" in told and told.endswith("free some space")


def test_a_pause_begins_below_the_reserve_and_ends_somewhat_above_it_and_each_is_said_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    guard = DiskGuard(settings, logging.getLogger("guard"))
    resume = RESERVE + RESERVE // 16
    for free, has_room in (
        (RESERVE, True), (RESERVE - 1, False), (0, False), (RESERVE, False), (resume - 1, False), (resume, True),
        (RESERVE, True), (resume, True),
    ):  # fmt: skip
        leave(monkeypatch, free)
        assert guard.has_room() is has_room, free
    first, second = [record.getMessage() for record in caplog.records]
    assert first.startswith("pausing: the disk of ") and "1,023 MiB are free" in first
    assert second == "there is room on the disk again (1,088 MiB): going on"


def test_who_waits_for_room_gives_signs_of_life_and_can_be_stopped(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "_LOOK_SECONDS", 0.01)
    guard, stop = DiskGuard(settings, logging.getLogger("quiet")), threading.Event()
    leave(monkeypatch, 0)
    beats = 0

    def beat() -> None:
        nonlocal beats
        beats += 1
        if beats == 3:
            leave(monkeypatch, 2 * RESERVE)

    guard.await_room(stop, beat)
    assert beats == 3
    leave(monkeypatch, 0)
    stop.set()
    guard.await_room(stop)
