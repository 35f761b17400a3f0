"""The metrics of ``bench continuous``, the ways of writing that it compares, and the figures made of their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from watchfloor.loadgen.continuous.readers import ReadResult
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric

INGEST = Metric(
    "continuous_entries_per_second",
    "entries/s",
    "entries of all clients / seconds from the first entry to the last flush",
    title="speed of writing entries",
)
RATIO = Metric(
    "continuous_ingest_ratio", "", "continuous_entries_per_second of a way / that of the way it is compared with",
    better="higher", title="ratio of speeds of writing",
)  # fmt: skip
REQUESTS = Metric(
    "continuous_requests_per_second",
    "requests/s",
    "requests of one reader without pauses / seconds",
    title="speed of a reader",
)
READ = Metric(
    "continuous_entries_read_per_second",
    "entries/s",
    "entries that these requests returned / seconds",
    title="speed of a reader",
)
LATENCY = Metric("continuous_request_ms", "ms", "mean time of a request", title="mean time of a request")
VERIFIED = Metric(
    "continuous_verified_per_second",
    "entries/s",
    "entries of the table / seconds of its verification",
    title="speed of verification",
)
WRONG = Metric(
    "continuous_wrong", "", "undefined rows, corrupt entries and missing rows that readers and verification found",
    better="lower", exact=True, title="undefined, corrupt and missing entries",
)  # fmt: skip
METRICS = (INGEST, RATIO, REQUESTS, READ, LATENCY, VERIFIED, WRONG)

PLAIN = "plain BatchWriter loop"
LINKED = "linked lists"
LABELLED = "linked lists with visibilities"
UNSPLIT = "linked lists, not split beforehand"
BESIDE_INGEST = f"{LINKED}, beside ingest"
"""The table of readers that read while a third of the clients writes."""
WALK, BATCH_WALK = "walk", "batch walk"
GOALS_FROM = 5_000_000
"""The number of entries from which on the goals apply."""


def make_read_figures(labels: Mapping[str, str], found: ReadResult) -> Iterator[Figure]:
    """Yields the figures of a reader. One that had no answer in its time has no time of a request."""
    yield Figure(REQUESTS, (found.request_rate,), labels)
    yield Figure(READ, (found.entry_rate,), labels)
    if found.requests:
        yield Figure(LATENCY, (1000 * found.mean,), labels)


def name_mixed_way(reader: str) -> str:
    """Returns the name of writing linked lists beside a reader."""
    return f"{LINKED}, beside a {reader}"


def make_ingest_figures(rates: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    """Yields the rates of the ways of writing, a sample a turn, and the ratios that goals are of."""
    for name, samples in rates.items():
        yield Figure(INGEST, tuple(samples), {"way": name})
    compared = ((LINKED, PLAIN, Goal(0.9, at_most=False)), (LABELLED, LINKED, Goal(0.85, at_most=False)))
    for name, other, goal in (*compared, (UNSPLIT, LINKED, None)):
        ratios = tuple(one / two for one, two in zip(rates[name], rates[other], strict=True))
        yield Figure(RATIO, ratios, {"way": name, "compared with": other}, goal)
