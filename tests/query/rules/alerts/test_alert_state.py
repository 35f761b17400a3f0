"""The state of a watch survives any end, and the minutes that changed are found from counts alone.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.query.rules.alerts.alert_state import AlertState, NewAlert, SourceLook
from watchfloor.query.rules.alerts.changes import find_changes, read_minute_counts
from watchfloor.schema.errors import StackError
from watchfloor.store.encoding.keys import DAY, HOUR, MINUTE

WIDTHS = {"minute": MINUTE, "hour": HOUR}
TIMES = st.lists(st.builds(lambda n, k: n * MINUTE + k, st.integers(0, 300), st.sampled_from([0, 1, MINUTE - 1])))


class Counted:
    """Counts times, as a store does."""

    def __init__(self, times: list[int]) -> None:
        self.times = times

    def count_over_time(
        self, source: str, since: int | None = None, until: int | None = None, bucket: str = "hour"
    ) -> list[tuple[int, int]]:
        width = WIDTHS[bucket]
        chosen = [time for time in self.times if (since or 0) <= time < (DAY if until is None else until)]
        return sorted(Counter(time // width * width for time in chosen).items())


@given(TIMES, TIMES)
def test_the_minutes_that_changed_are_found(before: list[int], new: list[int]) -> None:
    seen = read_minute_counts(Counted(before), "s", None, None)
    spans, counts = find_changes(Counted([*before, *new]), "s", seen)
    expected = {time // MINUTE for time in new}
    assert {minute for since, until in spans for minute in range(since // MINUTE, until // MINUTE)} == expected
    assert spans == sorted(spans) and all(one[1] < other[0] for one, other in itertools.pairwise(spans))
    assert find_changes(Counted([*before, *new]), "s", {**seen, **counts}) == ([], {})


def test_an_alert_is_told_once_and_a_file_keeps_its_lines(tmp_path: Path) -> None:
    state = AlertState(tmp_path / "sigma" / "state.db")
    assert state.put_alerts([NewAlert("a", "1"), NewAlert("b", "2")]) == 2
    assert state.next_file(1) == (1, ["1"])
    assert state.put_alerts([NewAlert("b", "other"), NewAlert("c", "3")]) == 1
    state.close()
    state = AlertState(tmp_path / "sigma" / "state.db")
    assert state.next_file(9) == (1, ["1"])
    state.mark_loaded(1)
    assert state.next_file(9) == (2, ["2", "3"])
    state.mark_loaded(2)
    assert state.next_file(9) is None
    assert state.next_unposted() == (1, "1")
    state.mark_posted(1)
    assert state.next_unposted() == (2, "2")
    state.skip_posts()
    assert state.next_unposted() is None
    assert (tmp_path / "sigma" / "state.db").stat().st_mode & 0o077 == 0


def test_a_look_is_kept_with_what_is_due_again(tmp_path: Path) -> None:
    state = AlertState(tmp_path / "state.db")
    state.add_sources(["", "x"])
    assert state.read_sources() == {"": False, "x": False}
    minutes = np.arange(60)
    state.put_counts("x", {HOUR: minutes})
    state.end_look([SourceLook("x", [(0, MINUTE)], [], {0: minutes + 1})], 100.0)
    assert state.read_sources() == {"": False, "x": True}
    assert {hour: int(counts.sum()) for hour, counts in state.read_counts("x").items()} == {0: 1830, HOUR: 1770}
    assert (state.read_due("x", 99.0), state.read_due("x", 100.0)) == ([], [(0, MINUTE)])
    state.end_look([SourceLook("x", [], [(0, MINUTE)], {})], 200.0)
    assert state.read_due("x", 1000.0) == []


KILLED = """
import sys
from pathlib import Path
from watchfloor.query.rules.alerts.alert_state import AlertState, NewAlert
state = AlertState(Path(sys.argv[1]))
number = 0
while True:
    state.put_alerts([NewAlert(f"{number}.{part}", str(number)) for part in range(7)])
    print(number, flush=True)
    number += 1
"""


def test_what_was_recorded_is_there_after_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "s.db")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(20):
            last = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
    state = AlertState(tmp_path / "s.db")
    found = state.next_file(10_000)
    assert found is not None
    counts = Counter(found[1])
    assert set(counts.values()) == {7} and {str(number) for number in range(last + 1)} <= set(counts)


def test_a_damaged_state_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"no database" * 1000)
    with pytest.raises(StackError, match=r"state\.db, the state of a watch, cannot be used"):
        AlertState(tmp_path / "state.db")
