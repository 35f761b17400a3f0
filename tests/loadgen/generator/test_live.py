"""Lines are written by a schedule, with known delays, and end whole when they are stopped early.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import io
import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from test_generate import made

from watchfloor.loadgen.generator.streams.generate_live import generate_live
from watchfloor.loadgen.generator.streams.pacer import Pacer
from watchfloor.loadgen.generator.streams.periodically_closed_file import PeriodicallyClosedFile
from watchfloor.schema.errors import UserError


class Noted(io.BytesIO):
    """Remembers when it was flushed, and how much it held then; ``slow`` seconds a write."""

    def __init__(self, slow: float = 0.0) -> None:
        super().__init__()
        self.flushed: list[tuple[float, int]] = []
        self._slow = slow

    def write(self, data: object, /) -> int:
        time.sleep(self._slow)
        return super().write(data)  # type: ignore[arg-type]

    def flush(self) -> None:
        self.flushed.append((time.time(), self.tell()))


def lines_at(pacer: Pacer, *milliseconds: int) -> tuple[np.ndarray, np.ndarray, memoryview]:
    """Lines of ten bytes, due so long from now."""
    times = np.array([pacer.now_micros() + ms * 1000 for ms in milliseconds], np.int64)
    return times, np.arange(10, 10 * len(times) + 1, 10), memoryview(b"123456789\n" * len(times))


def test_a_line_is_written_when_it_is_due_and_not_before() -> None:
    out = Noted()
    pacer = Pacer(out, threading.Event())
    began = time.time()
    assert pacer.write_lines(*lines_at(pacer, -100, 0, 150, 160, 400)) == 5
    assert out.getvalue() == b"123456789\n" * 5
    for due, size in ((0.15, 20), (0.4, 40)):
        assert all(held <= size for at, held in out.flushed if at < began + due)
    assert pacer.max_delay >= 0.1, "the first was due before it began"


def test_a_stall_delays_lines_but_not_the_schedule() -> None:
    """Eight lines, 10 ms apart, to a reader that takes 100 ms for each write: those due meanwhile go together."""
    out = Noted(slow=0.1)
    pacer = Pacer(out, threading.Event())
    assert pacer.write_lines(*lines_at(pacer, *range(0, 80, 10))) == 8
    assert len(out.flushed) < 8 and pacer.max_delay >= 0.1


def test_it_stops_between_lines() -> None:
    stop = threading.Event()
    out = Noted()
    pacer = Pacer(out, stop)
    threading.Timer(0.1, stop.set).start()
    assert pacer.write_lines(*lines_at(pacer, 0, 0, 3_600_000)) == 2
    assert out.getvalue() == b"123456789\n" * 2
    assert pacer.write_lines(*lines_at(pacer, 0)) == 0


def test_live_events_are_those_of_the_seed_with_times_of_now() -> None:
    out = Noted()
    began = time.time()
    live = generate_live(out, 2_000, 4_000.0, 7, "auth.events", threading.Event())
    _, usual, _ = made(2_000, seed=7, source="auth.events")
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [{**event, "ts": ""} for event in events] == [{**event, "ts": ""} for event in usual]
    times = [datetime.fromisoformat(event["ts"]).timestamp() for event in events]
    assert times == sorted(times) and began < times[0] and 0.4 < times[-1] - times[0] < 0.5
    ends = np.cumsum([len(line) + 1 for line in out.getvalue().splitlines()])
    for at, held in out.flushed:
        written = int(np.searchsorted(ends, held, side="right"))
        assert times[written - 1] <= at, "no event is written before its time"
    assert (live.generated.events, live.generated.bytes) == (2_000, len(out.getvalue()))
    assert live.generated.rare.events == 10 and live.max_delay >= 0
    assert live.generated.since.timestamp() <= times[0] and times[-1] < live.generated.until.timestamp()


def test_named_values_of_a_feed_that_was_stopped_are_those_that_were_written() -> None:
    stop = threading.Event()

    class Enough(io.BytesIO):
        def flush(self) -> None:
            if self.tell() > 500_000:
                stop.set()

    out = Enough()
    done = generate_live(out, 10**9, 20_000.0, 1, "proxy.events", stop).generated
    text = out.getvalue()
    assert 0 < done.events == text.count(b"\n") < 10**9 and text.endswith(b"\n") and done.bytes == len(text)
    assert done.popular.events == text.count(done.popular.value.encode() + b'"')


@pytest.mark.parametrize(("events", "rate", "option"), [(5, 0.0, "--rate"), (5, 1e9, "--rate"), (-1, 5.0, "--events")])
def test_bad_arguments_are_refused(events: int, rate: float, option: str) -> None:
    with pytest.raises(UserError, match=option):
        generate_live(io.BytesIO(), events, rate, 1, "dns.events", threading.Event())


def test_a_followed_file_is_closed_now_and_then_and_keeps_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    path = tmp_path / "live.json"
    path.write_text("of an earlier run\n")
    closed: list[str] = []
    with PeriodicallyClosedFile(str(path)) as file:
        for number in range(6):
            file.write(memoryview(f"{number}\n".encode()))
            before = file._file
            file.flush()
            assert path.read_text().endswith(f"{number}\n")
            if before.closed:
                closed.append(str(number))
            now += 0.5
    assert closed == ["2", "4"]
    assert path.read_text() == "0\n1\n2\n3\n4\n5\n"
    with pytest.raises(UserError, match="cannot write"):
        PeriodicallyClosedFile(str(tmp_path))


def test_the_clock_of_a_pacer_is_the_machines() -> None:
    assert abs(Pacer(io.BytesIO(), threading.Event()).now_micros() / 1e6 - datetime.now(UTC).timestamp()) < 5
