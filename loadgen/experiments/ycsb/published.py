"""The published figures beside ours: YCSB in tables 6-13, 6-14, 7-9 and 7-10 of the Accumulo study of 2014."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots.labels import label_published
from watchfloor.loadgen.published.read_published import load_published
from watchfloor.loadgen.ycsb.workloads import YcsbWorkload

from .figures import PUBLISHED_LATENCY, PUBLISHED_RATE, label_buffer, label_threads

_AWB, _EC2 = label_published(2014, "300 to 1,000 nodes"), label_published(2014, "10 and 100 virtual nodes")
_TABLES = {"6-13": (_AWB, 1), "6-14": (_AWB, 50), "7-9": (_EC2, 1), "7-10": (_EC2, 50)}
"""The cluster and the threads of each table: the Analytics Workbench, and Amazon's EC2."""


def make_published_figures(
    workloads: Sequence[YcsbWorkload], threads: Sequence[int], buffers: Sequence[int]
) -> Iterator[Figure]:
    """Yields the published rate and latency of each of our cases, with a sample for each size of the cluster.

    Where a run has other numbers of threads than the study, the study's are shown all the same.
    """
    study = load_published()["benchmark"]
    wanted = {workload.name for workload in workloads}
    shown = set(threads) & {count for _, count in _TABLES.values()} or {count for _, count in _TABLES.values()}
    for number, (cluster, count) in _TABLES.items():
        table = study.tables[number]
        cases = dict.fromkeys((row["workload"], row["buffer_kb"]) for row in table.rows)
        for workload, kilobytes in cases:
            if workload not in wanted or count not in shown:
                continue
            if workload == "insert" and kilobytes * 1000 not in buffers:
                continue
            rows = table.select_rows(workload=workload, buffer_kb=kilobytes)
            labels = {
                "workload": workload,
                "mode": f"buffer of {label_buffer(kilobytes * 1000)}",
                "threads": label_threads(count),
                "cluster": cluster,
            }
            sizes = ", ".join(f"{row['nodes']:,}" for row in rows)
            note = f"{sizes} nodes; {study.cite(number)}"
            yield Figure(PUBLISHED_RATE, tuple(row["operations_per_second"] for row in rows), labels, note=note)
            yield Figure(PUBLISHED_LATENCY, tuple(row["latency_ms"] for row in rows), labels, note=note)
