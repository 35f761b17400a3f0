"""The figures of ``bench lookups``, made from its turns, with those of the erasure-coding study (2019) beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.lookups.latencies import Latencies
from watchfloor.loadgen.lookups.look_up import LookupResult
from watchfloor.loadgen.lookups.study import STUDY, list_lookups, list_writes
from watchfloor.loadgen.lookups.write_table import BulkWrite

WRITE = Metric(
    "rows_per_second_per_writer",
    "rows/s",
    "rows / seconds until all sorted files are written / files written at once",
    title="speed of a bulk writer",
)
IMPORT = Metric(
    "import_seconds",
    "s",
    "from the call of the bulk import until all files are part of the table",
    title="time of the bulk import",
)
SIZE = Metric(
    "bytes_per_row",
    "bytes",
    "bytes of all files as they are written / rows",
    better="lower",
    exact=True,
    title="size of a row in the files",
)
LOOKUP = Metric(
    "lookup_ms",
    "ms",
    "time of a look-up of ten random rows, from before its BatchScanner is made until it is closed and all rows are "
    "found to be right; shortest, mean, percentiles and longest of all look-ups of a turn",
    title="time of a look-up",
)
RATE = Metric(
    "lookups_per_second",
    "look-ups/s",
    "look-ups of all executors / seconds of a turn",
    title="rate of all executors",
)
BUCKET = Metric(
    "bucket_share",
    "%",
    "look-ups of all turns in a bucket of 50 ms / all look-ups",
    better=None,
    title="share of look-ups by their time",
)
PAPER_WRITE = Metric(
    "study_rows_per_second_per_writer",
    "rows/s",
    "published: 400 million rows / minutes of the bulk write / 40 executors",
    better=None,
    title="speed of a bulk writer as published",
)
PAPER_SIZE = Metric(
    "study_bytes_per_row",
    "bytes",
    "published: size of all files / 400 million rows",
    better=None,
    title="size of a row in the files as published",
)
PAPER_LOOKUP = Metric(
    "study_lookup_ms",
    "ms",
    "published: times of a look-up of ten random rows",
    better=None,
    title="time of a look-up as published",
)
METRICS = (WRITE, IMPORT, SIZE, LOOKUP, RATE, BUCKET, PAPER_WRITE, PAPER_SIZE, PAPER_LOOKUP)
PERCENTILES = (50, 90, 99, 99.9)
LOWEST, MEAN, HIGHEST = "shortest", "mean", "longest"


@dataclass
class LookupTurns:
    """All that was measured, turn by turn: bulk writes by codec, look-ups by codec and state."""

    writes: dict[str, list[BulkWrite]] = field(default_factory=lambda: defaultdict(list))
    lookups: dict[tuple[str, str], list[LookupResult]] = field(default_factory=lambda: defaultdict(list))


def make_figures(codecs: Sequence[str], turns: LookupTurns) -> Iterator[Figure]:
    """Makes all figures of ours, in the order of the codecs."""
    for codec in codecs:
        writes, labels = turns.writes[codec], {"codec": codec}
        note = f"{writes[0].table.rows:,} rows, {writes[0].writers} writers"
        yield Figure(WRITE, tuple(write.row_rate / write.writers for write in writes), labels, note=note)
        yield Figure(IMPORT, tuple(write.import_seconds for write in writes), labels)
        yield Figure(SIZE, tuple(write.bytes_per_row for write in writes), labels)
    for (codec, state), results in sorted(turns.lookups.items(), key=lambda item: codecs.index(item[0][0])):
        yield from _make_lookup_figures({"codec": codec, "state": state}, results)


def make_published_figures() -> Iterator[Figure]:
    """Makes the figures of the study. Their notes have the place of each."""
    cited, sizes = STUDY.cite("bulk-write"), {}
    for write in list_writes():
        yield Figure(
            PAPER_WRITE, (write.rows_per_writer,), {"codec": write.codec, "encoding": write.encoding}, note=cited
        )
        sizes[write.codec] = write.bytes_per_row
    for codec, size in sizes.items():
        yield Figure(PAPER_SIZE, (size,), {"codec": codec}, note=cited)
    for times in list_lookups():
        for name, value in ((LOWEST, times.min), (MEAN, times.mean), (HIGHEST, times.max)):
            yield Figure(
                PAPER_LOOKUP, (float(value),), {"encoding": times.encoding, "of": name}, note=STUDY.cite("lookups")
            )


def list_times(latencies: Latencies) -> dict[str, float]:
    """Returns the times of which figures are made, in milliseconds by name, in ascending order but for the mean."""
    percentiles = {f"{percent:g} % of look-ups": latencies.find_percentile(percent) for percent in PERCENTILES}
    return {LOWEST: latencies.min, MEAN: latencies.mean, **percentiles, HIGHEST: latencies.max}


def _make_lookup_figures(labels: dict[str, str], results: Sequence[LookupResult]) -> Iterator[Figure]:
    times = [list_times(result.latencies) for result in results]
    for name in times[0]:
        yield Figure(LOOKUP, tuple(time[name] for time in times), {**labels, "of": name})
    rows = f"{results[0].rows:,} rows, {sum(result.latencies.lookups for result in results):,} look-ups, all right"
    yield Figure(RATE, tuple(result.lookup_rate for result in results), labels, note=rows)
    lookups = sum(result.latencies.lookups for result in results)
    shares: dict[str, float] = defaultdict(float)
    for result in results:
        for bucket, count, _ in result.latencies.list_buckets():
            shares[bucket] += 100 * count / lookups
    for bucket, share in shares.items():
        if share:
            yield Figure(BUCKET, (share,), {**labels, "time": bucket})
