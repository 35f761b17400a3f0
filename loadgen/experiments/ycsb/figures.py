"""The metrics of ``bench ycsb``, and the figures that are made of YCSB's output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.ycsb.output import CLEANUP, INTENDED, YcsbOutput
from watchfloor.loadgen.ycsb.ycsb_client import RunRequest, YcsbResult

RunResults = dict[RunRequest, list[YcsbResult]]
"""The results of each case, one a turn."""

RATE = Metric(
    "ycsb_operations_per_second",
    "operations/s",
    "operations / seconds of YCSB's client, from the start of its threads until their buffers are written",
    title="rate of operations",
)
MEAN = Metric(
    "ycsb_mean_ms",
    "ms",
    "mean latency of all operations of a run, writes that are only buffered included",
    title="mean latency",
)
LATENCIES: Mapping[str, Metric] = {
    percent: Metric(
        f"ycsb_{percent.replace('.', '_')}_percentile_ms",
        "ms",
        f"{percent}th percentile of the latency of a kind of operation, by YCSB's histogram, from its call to its end",
        title=f"latency, {percent}th percentile",
    )
    for percent in ("50", "95", "99", "99.9")
}
DUE = Metric(
    "ycsb_due_99_percentile_ms",
    "ms",
    "99th percentile of the latency at half the rate that was reached: from when an operation was due, or began, "
    "to its end",
    title="latency at half the rate, 99th percentile",
)
NOT_FOUND = Metric(
    "ycsb_not_found",
    "%",
    "reads that found no record, as it was still in a buffer / all reads",
    better=None,
    title="reads that found no record",
)
FAILED = Metric(
    "ycsb_failed", "", "operations that failed, of all runs", better="lower", exact=True, title="failed operations"
)
PUBLISHED_RATE = Metric(
    "ycsb_published_operations_per_second",
    "operations/s",
    "published, samples: one for each size of the cluster",
    better=None,
    title="rate of operations as published",
)
PUBLISHED_LATENCY = Metric(
    "ycsb_published_ms",
    "ms",
    "the published latency; samples as before",
    better=None,
    title="mean latency as published",
)
METRICS = (
    RATE, MEAN, *LATENCIES.values(), DUE, NOT_FOUND, FAILED, PUBLISHED_RATE, PUBLISHED_LATENCY,
)  # fmt: skip

LOAD = "load"
"""The label of the load phase, in place of a workload's name."""
_NAMES = {
    "READ": "read",
    "READ-NOT_FOUND": "read, not found",
    "UPDATE": "update",
    "INSERT": "insert",
    "SCAN": "scan",
    "READ-MODIFY-WRITE": "read, modify and write",
}
"""YCSB's operations in words. Those that failed have no latency here."""


def label_threads(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


def label_buffer(size: int) -> str:
    """Returns a size as the study prints it: ``100 KB``, ``1 MB``."""
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB" if size >= 1000 else f"{size} bytes"


def _label_case(case: RunRequest) -> dict[str, str]:
    mode = "flushed" if case.flush else f"buffer of {label_buffer(case.buffer)}"
    return {"workload": case.workload.name, "mode": mode, "threads": label_threads(case.threads)}


def make_load_figures(loaded: YcsbResult) -> Iterator[Figure]:
    """Yields the rate of the load phase."""
    labels = {"workload": LOAD, "mode": "buffer of 100 KB", "threads": label_threads(1)}
    yield Figure(RATE, (loaded.output.operations_per_second,), labels)


def make_run_figures(results: RunResults) -> Iterator[Figure]:
    """Yields rate, latencies and what was not found of each case, and all failures."""
    failed, first = 0, ""
    for case, runs in results.items():
        labels = _label_case(case)
        outputs = [run.output for run in runs]
        yield Figure(RATE, tuple(output.operations_per_second for output in outputs), labels)
        yield Figure(MEAN, tuple(map(_average, outputs)), labels)
        for operation, words in _NAMES.items():
            for percent, metric in LATENCIES.items():
                of_runs = [o.latencies[operation].percentiles[percent] for o in outputs if operation in o.latencies]
                if of_runs:
                    yield Figure(metric, tuple(of_runs), {**labels, "operation": words})
        if case.workload.writes and outputs[0].count("READ"):
            yield _count_not_found(outputs, labels)
        failed += sum(run.failures for run in runs)
        first = first or next((run.failure for run in runs if run.failure), "")
    yield Figure(FAILED, (float(failed),), {"workload": "all"}, Goal(0, at_most=True), note=first)


def make_due_figures(case: RunRequest, runs: Sequence[YcsbResult]) -> Iterator[Figure]:
    """Yields the latency of a run at a rate that was set, by operation: from when it was due, and when it began."""
    for operation, words in _NAMES.items():
        for prefix, begins in ((INTENDED, "from when it was due"), ("", "from its beginning")):
            of_runs = [run.output.latencies.get(f"{prefix}{operation}") for run in runs]
            samples = tuple(latency.percentiles["99"] for latency in of_runs if latency is not None)
            if samples:
                labels = {**_label_case(case), "operation": words, "latency": begins}
                yield Figure(DUE, samples, labels, note=f"{case.target:,} operations/s")


def _count_not_found(outputs: Sequence[YcsbOutput], labels: Mapping[str, str]) -> Figure:
    counts = [(output.count("READ", "NOT_FOUND"), output.count("READ")) for output in outputs]
    note = "; ".join(f"{missed:,} of {reads:,} reads" for missed, reads in counts)
    return Figure(NOT_FOUND, tuple(100 * missed / max(1, reads) for missed, reads in counts), labels, note=note)


def _average(output: YcsbOutput) -> float:
    """Returns the mean latency of all operations, each counted once: of those that modify, their parts are left out."""
    whole = {
        name: latency
        for name, latency in output.latencies.items()
        if not name.startswith(INTENDED) and name != CLEANUP and name != "READ-MODIFY-WRITE"
    }
    return sum(each.mean * each.operations for each in whole.values()) / sum(each.operations for each in whole.values())
