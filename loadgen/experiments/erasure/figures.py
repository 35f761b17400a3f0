"""The metrics of ``bench erasure``, and its figures, made from all that was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from watchfloor.loadgen.experiments.lookups.figures import list_times
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.lookups.look_up import LookupResult

REPLICATION = "replication"
POLICIES = {REPLICATION: "", **{name: name for name in ("RS-6-3-64k", "RS-6-3-1024k", "RS-10-4-1024k")}}
"""The policies of the study by their label; an empty one is three replicas."""
STUDY_NAMES = {
    REPLICATION: "Replication",
    "RS-6-3-64k": "RS 6-3 64KB",
    "RS-6-3-1024k": "RS 6-3 1MB",
    "RS-10-4-1024k": "RS 10-4 1MB",
}
"""The policies as the study names them."""
ALL_UP, KILLED, REPAIRED = "all up", "two killed", "repaired"
STATES = (ALL_UP, KILLED, REPAIRED)

LOOKUP = Metric(
    "erasure_lookup_ms", "ms", "time of a look-up of ten random rows, of which no block is cached; shortest, mean, "
    "percentiles and longest of all look-ups of a turn", title="time of a look-up",
)  # fmt: skip
FILE_WRITE = Metric(
    "erasure_write_megabytes_per_second", "MB/s", "bytes of all files / seconds until the last file is closed",
    title="speed of writing files",
)  # fmt: skip
FILE_READ = Metric(
    "erasure_read_megabytes_per_second", "MB/s", "bytes of all files / seconds until the last one is read, every byte "
    "compared", title="speed of reading files",
)  # fmt: skip
BULK_WRITE = Metric(
    "erasure_rows_per_second_per_writer", "rows/s", "rows / seconds until all sorted files are written / writers",
    title="speed of a bulk writer",
)  # fmt: skip
DISK = Metric(
    "erasure_disk_bytes_per_row", "bytes", "bytes that the table's files take on all DataNodes, replicas and parity "
    "included / rows", better="lower", exact=True, title="disk used by a row",
)  # fmt: skip
REPAIR = Metric(
    "erasure_repair_seconds", "s", "from the start of two DataNodes with empty disks until no file lacks a part",
    title="time of the repair",
)  # fmt: skip
METRICS = (LOOKUP, FILE_WRITE, FILE_READ, BULK_WRITE, DISK, REPAIR)

FileCase = tuple[str, str, str]
"""A policy, a number of files at once, and a state."""


@dataclass
class ErasureTurns:
    """All that was measured, turn by turn: rates by policy and case, disk bytes a row, look-ups by policy and state."""

    bulk_writes: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    disk: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    file_writes: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    file_reads: dict[FileCase, list[float]] = field(default_factory=lambda: defaultdict(list))
    lookups: dict[tuple[str, str], list[LookupResult]] = field(default_factory=lambda: defaultdict(list))
    repairs: list[float] = field(default_factory=list)
    missing_parts: int = 0


def make_figures(turns: ErasureTurns) -> Iterator[Figure]:
    """Makes all figures."""
    for (policy, codec), rates in turns.bulk_writes.items():
        labels = {"files": policy, "codec": codec}
        yield Figure(BULK_WRITE, tuple(rates), labels)
        yield Figure(DISK, tuple(turns.disk[policy, codec]), labels)
    for (policy, count), rates in turns.file_writes.items():
        yield Figure(FILE_WRITE, tuple(rates), {"files": policy, "at once": count})
    for (policy, count, state), rates in turns.file_reads.items():
        yield Figure(FILE_READ, tuple(rates), {"files": policy, "at once": count, "state": state})
    for (policy, state), results in turns.lookups.items():
        times = [list_times(result.latencies) for result in results]
        note = f"{sum(result.latencies.lookups for result in results):,} look-ups, all right"
        for name in times[0]:
            yield Figure(
                LOOKUP, tuple(time[name] for time in times), {"files": policy, "state": state, "of": name}, note=note
            )
    yield Figure(REPAIR, tuple(turns.repairs), note=f"{turns.missing_parts:,} parts were missing until then")
