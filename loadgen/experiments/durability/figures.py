"""The metrics of ``bench durability``, and its figures, made from what was measured in each case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from watchfloor.loadgen.experiments.security.pipeline import PipelineTimes
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric

RATE = Metric(
    "durability_entries_per_second", "entries/s", "entries written a second, from the first one to the last flush",
    title="speed of writing",
)  # fmt: skip
FLUSH = Metric(
    "durability_flush_ms", "ms", "from the call of a flush of the BatchWriter until all its entries are acknowledged",
    title="time of a flush",
)  # fmt: skip
LOADED = Metric(
    "durability_loaded_events_per_second", "events/s", "events of our own pipeline, from the first item to the last",
    title="speed of a load",
)  # fmt: skip
ROW = Metric(
    "durability_row_ms", "ms", "from the call of the query service to the row, after a load", title="time to a row"
)  # fmt: skip
METRICS = (RATE, FLUSH, LOADED, ROW)


@dataclass(frozen=True)
class DurabilityCase:
    """One case: the files that acknowledged entries are in, and the setting ``durability``."""

    files: str
    durability: str

    @property
    def labels(self) -> Mapping[str, str]:
        return {"files": self.files, "durability": self.durability}


@dataclass
class DurabilityTimes:
    """All that was measured in one case, turn by turn: rates (entries/s), times of all flushes (ms), and loads."""

    rates: list[float] = field(default_factory=list)
    flushes: list[float] = field(default_factory=list)
    loads: list[PipelineTimes] = field(default_factory=list)


def make_figures(case: DurabilityCase, times: DurabilityTimes) -> Iterator[Figure]:
    """Makes the figures of a case."""
    yield Figure(RATE, tuple(times.rates), case.labels)
    yield Figure(FLUSH, tuple(times.flushes), case.labels)
    yield Figure(LOADED, tuple(load.speed for load in times.loads), case.labels)
    rows: dict[tuple[str, str], list[float]] = defaultdict(list)
    for load in times.loads:
        for named, samples in load.rows.items():
            rows[named].extend(samples)
    for (query, row), found in rows.items():
        yield Figure(ROW, tuple(found), {**case.labels, "query": query, "row": row})
