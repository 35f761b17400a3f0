"""Replay of a log file: its lines at a given rate or at their own pace, as if they happened now.

The time of each event is replaced in its line and keeps its form; nothing else is changed. A line without a time that
can be found is passed on unchanged.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.registry import open_time_finder
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.ingest.parsing.time_place import TimePlace
from watchfloor.ingest.reading.read_ahead import read_ahead
from watchfloor.loadgen.generator.synthesis.time_sampler import MicrosArray
from watchfloor.schema.errors import InputFileError, UserError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .pacer import HEAD_START_MICROS, LiveLineSink, Pacer, check_rate
from .written_time import format_time_like

CHUNK_BYTES = 1 << 20
MAX_SPEED = 1_000_000.0
_MICROS_PER_SECOND = 1_000_000
_MAX_LINE_BYTES = 1 << 30


@dataclass(frozen=True)
class ReplaySummary:
    """The lines that were written, without blank and header lines; ``retimed`` of them have a new time.

    ``seconds`` are counted from the due time of the first line. ``max_delay`` is the longest time in seconds by which
    a line was written after it was due.
    """

    lines: int
    retimed: int
    bytes: int
    seconds: float
    max_delay: float


class ReplaySchedule(Protocol):
    """A function that returns the new time of each line in µs since 1970 UTC.

    It is called with the place of each line's time, in order.

    A result of None stands for the time of the line before. A place of None means a line without a time.
    """

    def __call__(self, place: TimePlace | None, /) -> int | None: ...


class RateSchedule:
    """A schedule that puts line i at ``start`` + i / ``rate`` seconds."""

    def __init__(self, start: int, rate: float) -> None:
        check_rate(rate)
        self._start, self._rate, self._lines = start, rate, 0

    def __call__(self, place: TimePlace | None) -> int | None:
        self._lines += 1
        return self._start + round((self._lines - 1) / self._rate * _MICROS_PER_SECOND)


class SpeedSchedule:
    """A schedule that divides the distances between the lines' own times by ``speed``.

    The first time becomes ``start`` or up to a second later: at speed 1 all times are shifted by the same number of
    whole seconds, so that times of any resolution keep their digits.
    """

    def __init__(self, start: int, speed: float) -> None:
        if not 0 < speed <= MAX_SPEED:
            raise UserError(f"--speed is {speed:g}; it must lie above 0 and not above {MAX_SPEED:,.0f}")
        self._start, self._speed = start, speed
        self._first: int | None = None

    def __call__(self, place: TimePlace | None) -> int | None:
        if place is None:
            return None
        if self._first is None:
            self._first = place.micros
            self._start += (place.micros - self._start) % _MICROS_PER_SECOND
        return self._start + round((place.micros - self._first) / self._speed)


@dataclass(frozen=True)
class RetimedChunk:
    """Lines with their line ends; line i is due at ``times[i]`` and ends before ``ends[i]`` of ``text``.

    ``event_counts[i]`` of the lines up to and including line i are neither blank nor header lines;
    ``retimed_counts[i]`` of them have a new time.
    """

    times: MicrosArray
    ends: npt.NDArray[np.int64]
    text: memoryview
    event_counts: npt.NDArray[np.int64]
    retimed_counts: npt.NDArray[np.int64]


def replay_file(
    path: str,
    out: LiveLineSink,
    stop: threading.Event,
    *,
    source: str | None = None,
    rate: float | None = None,
    speed: float = 1.0,
    known: Mapping[str, Source] | None = None,
) -> ReplaySummary:
    """Writes the file's lines, ``rate`` a second or ``speed`` times as fast as they came, until ``stop`` is set.

    ``source`` names the file's source where its content does not tell; ``known`` are sources besides those that ship.
    Raises InputFileError for a file that cannot be read, UserError for bad arguments.
    """
    pacer = Pacer(out, stop)
    start = pacer.now_micros() + HEAD_START_MICROS
    schedule = SpeedSchedule(start, speed) if rate is None else RateSchedule(start, rate)
    lines = retimed = size = 0
    first = None
    with read_ahead(retime_chunks(path, source, known or {}, schedule, start), 1) as chunks:
        for chunk in chunks:
            first = int(chunk.times[0]) if first is None else first
            written = pacer.write_lines(chunk.times, chunk.ends, chunk.text)
            if written:
                lines += int(chunk.event_counts[written - 1])
                retimed += int(chunk.retimed_counts[written - 1])
                size += int(chunk.ends[written - 1])
            if stop.is_set():
                break
    return ReplaySummary(lines, retimed, size, 0.0 if first is None else pacer.seconds_since(first), pacer.max_delay)


def retime_chunks(
    path: str, source: str | None, known: Mapping[str, Source], schedule: ReplaySchedule, start: int
) -> Generator[RetimedChunk, None, None]:
    """Yields the file's lines with the times that ``schedule`` returns, in chunks, none due before ``start``."""
    sniffed = sniff_file(path, source, known)
    finder, time_format = open_time_finder(sniffed)
    due = start
    for chunk in read_chunks(path, chunk_bytes=CHUNK_BYTES, max_line_bytes=_MAX_LINE_BYTES):
        for rejected in chunk.rejected:
            raise InputFileError(f"{show_path(path)}: {rejected.reason}")
        texts, times, counted, retimed = [], [], [], []
        for line in io.BytesIO(chunk.data):
            event = bool(line.strip()) and not (sniffed.header and line.startswith(b"#"))
            place = finder.find_time(line.rstrip(b"\r\n"))
            happens = schedule(place) if event else None
            new = None
            if happens is not None:
                due = max(due, happens)
                new = _replace_time(line, place, happens, time_format)
            texts.append(line if new is None else new)
            times.append(due)
            counted.append(event)
            retimed.append(new is not None)
        yield RetimedChunk(
            np.array(times, np.int64),
            np.cumsum([len(text) for text in texts]),
            memoryview(b"".join(texts)),
            np.cumsum(counted),
            np.cumsum(retimed),
        )


def _replace_time(line: bytes, place: TimePlace | None, micros: int, time_format: str) -> bytes | None:
    """Returns the line with another time; None if it has no time, or one whose form cannot be kept."""
    if place is None:
        return None
    text = format_time_like(line[place.start : place.end].decode(), micros, time_format)
    return None if text is None else line[: place.start] + text.encode() + line[place.end :]
