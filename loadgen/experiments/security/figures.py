"""The metrics of ``bench security``, and the changes by level that its table has beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric

ELAPSED = Metric(
    "security_elapsed_ms", "ms", "from the first entry to the last flush of all clients; a sample an iteration",
    title="time to write all entries",
)  # fmt: skip
SPENT = Metric(
    "security_processor_seconds", "s", "of tablet servers, clients and the collector, from their start to their end; "
    "a sample an iteration", title="processor time to write all entries",
)  # fmt: skip
CHANGE = Metric(
    "security_change_percent", "%", "100 * (security_elapsed_ms of a level / that of none - 1)",
    better="lower", title="more time than without security",
)  # fmt: skip
BESIDE_WALK = Metric(
    "security_ingest_beside_walk_per_second", "entries/s", "entries written a second while a walker looks rows up",
    title="speed of writing beside a walker",
)  # fmt: skip
WALKED = Metric(
    "security_walked_per_second", "requests/s", "rows that a walker without pauses looks up a second",
    title="speed of a walker",
)  # fmt: skip
LOADED = Metric(
    "security_loaded_events_per_second", "events/s", "events of our own pipeline, from the first item to the last",
    title="speed of a load",
)  # fmt: skip
ROW_TIME = Metric(
    "security_row_ms", "ms", "from the call of the query service to the row", title="time to a row of a query"
)  # fmt: skip
TABLE_ENTRIES = Metric("table_recs", "entries", "the collector's TABLE_RECS", "max", title="entries of the table")
TOTAL_INGEST = Metric(
    "total_ingest", "entries/s", "the collector's TOTAL_INGEST", "mean", title="rate of ingest of the instance"
)  # fmt: skip
FILES_PER_TABLET = Metric(
    "avg_files_per_tablet", "files", "the collector's AVG_FILES/TABLET", "mean", title="files of a tablet"
)  # fmt: skip
FILES = Metric("accumulo_files", "files", "the collector's ACCUMULO_FILES", "max", title="files of Accumulo")
SERIES = {
    "table_entries": TABLE_ENTRIES,
    "total_ingest": TOTAL_INGEST,
    "mean_files_per_tablet": FILES_PER_TABLET,
    "accumulo_files": FILES,
}
"""The four series that the study plotted, by the collector's records."""
METRICS = (ELAPSED, SPENT, CHANGE, BESIDE_WALK, WALKED, LOADED, ROW_TIME, *SERIES.values())


def make_elapsed_figures(elapsed: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    """Yields the times of each level (ms), and the changes of median, maximum and minimum, as the study has them."""
    for level, samples in elapsed.items():
        yield Figure(ELAPSED, tuple(samples), {"level": level})
    usual = elapsed.get("none")
    if not usual:
        return
    base = Figure(ELAPSED, tuple(usual)).value
    for level, samples in elapsed.items():
        if level != "none":
            changes = tuple(100 * (one / two - 1) for one, two in zip(samples, usual, strict=True))
            median = Figure(ELAPSED, tuple(samples)).value
            yield Figure(CHANGE, changes, {"level": level, "of": "median"}, derived=100 * (median / base - 1))
            for name, choose in (("maximum", max), ("minimum", min)):
                change = 100 * (choose(samples) / choose(usual) - 1)
                yield Figure(CHANGE, (change,), {"level": level, "of": name})
