"""The master decides by plain functions when a file is complete and which files it looks at.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.ingest.intake import folder_watcher
from watchfloor.ingest.intake.folder_watcher import FolderWatcher
from watchfloor.ingest.intake.settling import FileState, Settling, is_log_name, read_state, walk_folders


def names(settling: Settling, now: float) -> list[str]:
    return [found.path for found in settling.complete_files(now)]


def test_a_file_settles_when_it_stays_the_same() -> None:
    settling = Settling(5)
    settling.record_state(FileState("a", 1, 1), 0)
    settling.record_state(FileState("a", 2, 2), 4)
    assert names(settling, 8.9) == []
    assert names(settling, 9) == ["a"]


def test_a_closed_file_is_ready_at_once_and_not_after_it_changed() -> None:
    settling = Settling(5)
    settling.record_state(FileState("a", 1, 1), 0, closed=True)
    assert names(settling, 0) == ["a"]
    settling.record_state(FileState("a", 2, 2), 1)
    assert names(settling, 1) == []


def test_a_file_that_was_left_alone_before_the_first_walk_is_complete_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watcher, "BLIND_WALK_SECONDS", 0.0)
    for name, age in (("old", 60.0), ("new", 0.0), ("to come", -60.0)):
        (tmp_path / name).write_text("x\n")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    with FolderWatcher([str(tmp_path)], 30.0, polling=True) as watcher:
        assert [found.path for found in watcher.complete_files()] == [str(tmp_path / "old")]
        watcher.take(FileState(str(tmp_path / "old"), 2, (tmp_path / "old").stat().st_mtime_ns))
        (tmp_path / "later").write_text("x\n")
        os.utime(tmp_path / "later", (time.time() - 60.0,) * 2)
        assert watcher.complete_files() == []


def test_a_taken_file_comes_again_only_if_it_changes() -> None:
    settling = Settling(5)
    settling.record_state(FileState("a", 1, 1), 0, closed=True)
    settling.take(FileState("a", 1, 1))
    settling.record_state(FileState("a", 1, 1), 10, closed=True)
    assert names(settling, 100) == []
    settling.record_state(FileState("a", 2, 1), 100)
    assert names(settling, 105) == ["a"]


def test_a_change_while_it_is_taken_is_not_lost() -> None:
    settling = Settling(5)
    settling.record_state(FileState("a", 1, 1), 0, closed=True)
    settling.record_state(FileState("a", 2, 2), 1, closed=True)
    settling.take(FileState("a", 1, 1))
    assert names(settling, 1) == ["a"]


def test_files_that_are_gone_are_forgotten() -> None:
    settling = Settling(0)
    settling.record_state(FileState("a", 1, 1), 0)
    settling.take(FileState("b", 1, 1))
    settling.forget_others({"c"})
    assert names(settling, 9) == []
    settling.record_state(FileState("b", 1, 1), 10)
    assert names(settling, 10) == ["b"]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 3))))
def test_no_file_is_taken_twice_as_it_is(steps: list[tuple[int, float]]) -> None:
    settling, now, taken = Settling(2), 0.0, []
    for size, wait in steps:
        now += wait
        settling.record_state(FileState("a", size, size), now)
        for found in settling.complete_files(now):
            settling.take(found)
            taken.append(found.size)
    assert all(a != b for a, b in pairwise(taken))


@pytest.mark.parametrize("name", [".a.log", "a.part", "a.TMP", "a.log~", "a.swp", ".git", "x.crdownload"])
def test_hidden_and_temporary_names(name: str) -> None:
    assert not is_log_name(name)


def test_the_walk_follows_no_links_and_opens_no_pipes(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("a.log", "in/b.log", ".hidden/c.log", "d.part", ".e"):
        (tmp_path / name).write_text("x")
    (tmp_path / "link.log").symlink_to(tmp_path / "a.log")
    (tmp_path / "in" / "up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    states = walk_folders([str(tmp_path), str(tmp_path / "missing")])
    found = sorted(os.path.relpath(state.path, tmp_path) for state in states)
    assert found == ["a.log", "in/b.log"]
    assert read_state(str(tmp_path / "link.log")) is None and read_state(str(tmp_path / "gone")) is None
