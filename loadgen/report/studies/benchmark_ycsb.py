"""YCSB on the page of the Accumulo benchmark study: rates by workload and threads, of each cluster and here."""

from __future__ import annotations

from collections.abc import Iterator

from watchfloor.loadgen.experiments.ycsb.figures import NOT_FOUND, RATE, label_buffer, label_threads
from watchfloor.loadgen.published.read_published import load_published

from .own_figures import OwnFigures
from .study_page import StudyCell, StudyRow, StudyTable

_STUDY = load_published()["benchmark"]
_TABLES = {1: ("6-13", "7-9"), 50: ("6-14", "7-10")}
"""The study's tables by threads, each of AWB and of EC2."""
_FLUSHED = "flushed"


def make_ycsb_tables(ours: OwnFigures) -> Iterator[StudyTable]:
    for threads, (awb, ec2) in _TABLES.items():
        clusters = [
            (number, name, nodes)
            for number, name in ((awb, "AWB"), (ec2, "EC2"))
            for nodes in dict.fromkeys(row["nodes"] for row in _STUDY.tables[number].rows)
        ]
        cases = dict.fromkeys(
            (row["workload"], row["buffer_kb"]) for number in (awb, ec2) for row in _STUDY.tables[number].rows
        )
        rows = []
        for workload, kilobytes in cases:
            found = [
                _STUDY.tables[number].select_rows(nodes=nodes, workload=workload, buffer_kb=kilobytes)
                for number, _, nodes in clusters
            ]
            published = [StudyCell(each[0]["operations_per_second"]) if each else None for each in found]
            size = label_buffer(1000 * kilobytes)
            modes = (f"buffer of {size}", _FLUSHED)
            # A flushed write fills no buffer: it stands beside the study's usual one.
            here = [_find_rate(ours, workload, mode, threads) for mode in modes[: 2 if kilobytes == 100 else 1]]
            here += [None] * (2 - len(here))
            label = f"pure inserts, buffer of {size}" if workload == "insert" else f"workload {workload}"
            rows.append(StudyRow(label, [*published, *here]))
        yield StudyTable(
            f"YCSB with {label_threads(threads)}, operations a second",
            (
                "workload",
                *(f"published, {name}, {nodes:,} nodes" for _, name, nodes in clusters),
                *("here, buffered", "here, each write flushed"),
            ),
            rows,
            (awb, ec2),
            f"`watchfloor bench ycsb --threads {threads}`",
        )


def state_ycsb_findings(ours: OwnFigures) -> Iterator[str]:
    for threads, numbers in _TABLES.items():
        published = [
            row["operations_per_second"]
            for number in numbers
            for row in _STUDY.tables[number].select_rows(workload="A")
        ]
        if here := _find_rate(ours, "A", _FLUSHED, threads):
            yield (
                f"With {label_threads(threads)} YCSB's workload A makes {here.value:,.0f} operations a second here, "
                f"each write flushed; in the study {min(published):,.0f} to {max(published):,.0f}, with writes in a "
                f"buffer."
            )
    if missed := ours.find_figure("ycsb", NOT_FOUND, workload="D"):
        yield (
            f"With buffered writes, as in the study, {missed.value:.0f} % of workload D's reads find no record yet, "
            "since it is still in the client's buffer; with each write flushed they find it."
        )


def _find_rate(ours: OwnFigures, workload: str, mode: str, threads: int) -> StudyCell | None:
    found = ours.find_figure("ycsb", RATE, workload=workload, mode=mode, threads=label_threads(threads))
    return StudyCell(found.value, found) if found else None
