"""A log file's lines again, at a given rate or at their own pace, as if they happened now.

The time of each event is replaced in its line, in the form that it has there; nothing else is touched. A line whose
time cannot be found is passed on as it is.
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
from watchfloor.ingest.intake.sniff import sniff
from watchfloor.ingest.parsing.time_place import TimePlace
from watchfloor.ingest.worker.read_ahead import ahead
from watchfloor.loadgen.generator.synthesis.time_sampler import MicrosArray
from watchfloor.schema.errors import InputFileError, UserError
from watchfloor.schema.source import Source

from .pacer import HEAD_START, LiveSink, Pacer, check_rate
from .written_time import written_like

CHUNK_BYTES = 1 << 20
MOST_SPEED = 1_000_000.0
_SECOND = 1_000_000
_LONGEST_LINE = 1 << 30


@dataclass(frozen=True)
class Replayed:
    """``lines`` were written, blank and header lines apart; ``retimed`` of them with a new time, in ``seconds`` from
    when the first was due. ``late``: the longest that a line was written after it was due, in seconds."""

    lines: int
    retimed: int
    bytes: int
    seconds: float
    late: float


class Schedule(Protocol):
    """Told the lines in their order, it says when each happens now, in µs; None: with the one before it."""

    def __call__(self, place: TimePlace | None, /) -> int | None: ...


class AtRate:
    """Line i at ``start`` + i / ``rate``."""

    def __init__(self, start: int, rate: float) -> None:
        check_rate(rate)
        self._start, self._rate, self._lines = start, rate, 0

    def __call__(self, place: TimePlace | None) -> int | None:
        self._lines += 1
        return self._start + round((self._lines - 1) / self._rate * _SECOND)


class AtSpeed:
    """As far apart as the lines' own times / ``speed``; the first time becomes ``start``, or up to a second later.

    At speed 1 all times are shifted by as many whole seconds, which times of any resolution can take.
    """

    def __init__(self, start: int, speed: float) -> None:
        if not 0 < speed <= MOST_SPEED:
            raise UserError(f"--speed is {speed:g}; it must lie above 0 and not above {MOST_SPEED:,.0f}")
        self._start, self._speed = start, speed
        self._first: int | None = None

    def __call__(self, place: TimePlace | None) -> int | None:
        if place is None:
            return None
        if self._first is None:
            self._first = place.micros
            self._start += (place.micros - self._start) % _SECOND
        return self._start + round((place.micros - self._first) / self._speed)


@dataclass(frozen=True)
class Piece:
    """Lines with their line ends; line i is due at ``times[i]`` and ends before ``ends[i]``. ``counted`` of the lines
    up to and with each are neither blank nor header lines, ``retimed`` of them have a new time."""

    times: MicrosArray
    ends: npt.NDArray[np.int64]
    text: memoryview
    counted: npt.NDArray[np.int64]
    retimed: npt.NDArray[np.int64]


def replay(
    path: str,
    out: LiveSink,
    stop: threading.Event,
    *,
    source: str | None = None,
    rate: float | None = None,
    speed: float = 1.0,
    known: Mapping[str, Source] | None = None,
) -> Replayed:
    """Writes the file's lines, ``rate`` a second or ``speed`` times as fast as they came, until ``stop`` is set.

    ``source`` is what the file is, if its content does not tell; ``known`` are sources besides those that ship. Raises
    ``InputFileError`` for a file that cannot be read, ``UserError`` for bad arguments.
    """
    pacer = Pacer(out, stop)
    start = pacer.now() + HEAD_START
    schedule = AtSpeed(start, speed) if rate is None else AtRate(start, rate)
    lines = retimed = size = 0
    first = None
    with ahead(pieces(path, source, known or {}, schedule, start), 1) as made:
        for piece in made:
            first = int(piece.times[0]) if first is None else first
            written = pacer.write(piece.times, piece.ends, piece.text)
            if written:
                lines += int(piece.counted[written - 1])
                retimed += int(piece.retimed[written - 1])
                size += int(piece.ends[written - 1])
            if stop.is_set():
                break
    return Replayed(lines, retimed, size, 0.0 if first is None else pacer.since(first), pacer.late)


def pieces(
    path: str, source: str | None, known: Mapping[str, Source], schedule: Schedule, start: int
) -> Generator[Piece, None, None]:
    """The file's lines with the times that ``schedule`` gives them, a chunk at a time; none is due before ``start``."""
    sniffed = sniff(path, source, known)
    finder, time_format = open_time_finder(sniffed)
    due = start
    for chunk in read_chunks(path, chunk_bytes=CHUNK_BYTES, max_line_bytes=_LONGEST_LINE):
        for rejected in chunk.rejected:
            raise InputFileError(f"{path}: {rejected.reason}")
        texts, times, counted, retimed = [], [], [], []
        for line in io.BytesIO(chunk.data):
            event = bool(line.strip()) and not (sniffed.header and line.startswith(b"#"))
            place = finder.find_time(line.rstrip(b"\r\n"))
            happens = schedule(place) if event else None
            new = None
            if happens is not None:
                due = max(due, happens)
                new = _with_time(line, place, happens, time_format)
            texts.append(line if new is None else new)
            times.append(due)
            counted.append(event)
            retimed.append(new is not None)
        yield Piece(
            np.array(times, np.int64),
            np.cumsum([len(text) for text in texts]),
            memoryview(b"".join(texts)),
            np.cumsum(counted),
            np.cumsum(retimed),
        )


def _with_time(line: bytes, place: TimePlace | None, micros: int, time_format: str) -> bytes | None:
    """The line with another time in its place; None where it has none, or one whose form cannot be kept."""
    if place is None:
        return None
    text = written_like(line[place.start : place.end].decode(), micros, time_format)
    return None if text is None else line[: place.start] + text.encode() + line[place.end :]
