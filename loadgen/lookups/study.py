"""The rows of the erasure-coding study (2019), in the form in which ours stand beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from watchfloor.loadgen.published.read_published import load_published

STUDY = load_published()["erasure-coding"]
WRITTEN_ROWS, WRITERS = 400_000_000, 40
"""The rows of the study's bulk writes, and the executors that wrote them."""


@dataclass(frozen=True)
class StudyWrite:
    """A bulk write of the study: ``encoding`` is that of its files in HDFS."""

    codec: str
    encoding: str
    seconds: float
    bytes: float

    @property
    def rows_per_writer(self) -> float:
        """Rows a second of each executor."""
        return WRITTEN_ROWS / self.seconds / WRITERS

    @property
    def bytes_per_row(self) -> float:
        return self.bytes / WRITTEN_ROWS


@dataclass(frozen=True)
class StudyLookups:
    """Times of look-ups of the study in milliseconds; ``encoding`` names the files, the nodes, and failures."""

    encoding: str
    min: float
    mean: float
    max: float


def list_writes() -> Iterator[StudyWrite]:
    """Yields the bulk writes of the study."""
    for row in STUDY.tables["bulk-write"].rows:
        yield StudyWrite(row["compressor"], row["encoding"], 60 * row["minutes"], 1e9 * row["gigabytes"])


def list_lookups() -> Iterator[StudyLookups]:
    """Yields the look-ups of the study."""
    for row in STUDY.tables["lookups"].rows:
        failures = " with failures" if row["failures"] else ""
        encoding = f"{row['encoding']}, {row['nodes']} nodes{failures}"
        yield StudyLookups(encoding, row["min_ms"], row["mean_ms"], row["max_ms"])
