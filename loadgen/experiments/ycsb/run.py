"""``bench ycsb``: YCSB's workloads A to F, and the pure insert of the Accumulo study of 2014, by YCSB's own client.

Each workload runs as published, with writes that are done once they are in a buffer, and with each write flushed. Then
one workload runs at half the rate that it reached, where operations are due at times of their own.
"""

from __future__ import annotations

import secrets
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace

from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.ycsb.workloads import WORKLOADS, YcsbWorkload, find_workload
from watchfloor.loadgen.ycsb.ycsb_client import (
    PUBLISHED_BUFFER,
    LoadRequest,
    RunRequest,
    YcsbResult,
    load_records,
    run_workload,
)
from watchfloor.schema.errors import UserError
from watchfloor.store.admin.tables import drop_table

from .figures import METRICS, RunResults, label_threads, make_due_figures, make_load_figures, make_run_figures
from .plot import draw
from .published import make_published_figures

INSERT = "insert"
BUFFERS = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
"""The buffers of the study's pure inserts, in bytes."""


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--records", 10_000, "records of the table")
    add_count(parser, "--operations", 10_000, "operations of each run")
    parser.add_argument("--threads", metavar="N,…", default="1,50", help="threads of the client (default 1,50)")
    names = ",".join(WORKLOADS)
    parser.add_argument("--workloads", metavar="W,…", default=names, help=f"workloads (default {names})")
    sizes = ",".join(map(str, BUFFERS))
    parser.add_argument(
        "--buffers", metavar="N,…", default=sizes, help=f"bytes of `insert`'s buffers (default {sizes})"
    )
    add_count(parser, "--repeats", 1, "runs of each")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    workloads = [find_workload(name) for name in options.workloads.split(",")]
    threads, buffers = (_read_numbers(flag, getattr(options, flag)) for flag in ("threads", "buffers"))
    table = f"bench_ycsb_{secrets.token_hex(4)}"
    cases = list(_list_cases(table, workloads, threads, buffers, options.operations))
    results: RunResults = {case: [] for case in cases}
    try:
        loaded = load_records(session.settings, LoadRequest(table, options.records))
        print_progress(f"{options.records:,} records loaded")
        for turn in range(options.repeats):
            for case in cases:
                results[case].append(_run_case(session, case))
            print_progress(f"turn {turn + 1} of {options.repeats}")
        paced = _slow_down(cases, results)
        due = [_run_case(session, paced) for _ in range(options.repeats)]
    finally:
        drop_table(session.store.connection, table)
    return [
        *make_load_figures(loaded),
        *make_run_figures(results),
        *make_due_figures(paced, due),
        *make_published_figures(workloads, threads, buffers),
    ]


def _list_cases(
    table: str, workloads: Sequence[YcsbWorkload], threads: Sequence[int], buffers: Sequence[int], operations: int
) -> Iterator[RunRequest]:
    """Yields all runs of a turn. Pure inserts come last, as they make the table grow."""
    for workload in sorted(workloads, key=lambda workload: workload.name == INSERT):
        for count in threads:
            sizes = buffers if workload.name == INSERT else (PUBLISHED_BUFFER,)
            for size in sizes:
                yield RunRequest(workload, table, operations, count, buffer=size)
            if workload.writes:
                yield RunRequest(workload, table, operations, count, flush=True)


def _slow_down(cases: Sequence[RunRequest], results: RunResults) -> RunRequest:
    """Returns the first workload with the fewest threads, flushed, at half the rate that it reached."""
    first = cases[0].workload
    of_first = [case for case in cases if case.workload is first and case.flush == first.writes]
    fewest = min(of_first, key=lambda case: case.threads)
    rate = max(result.output.operations_per_second for result in results[fewest])
    return replace(fewest, target=max(1, round(rate / 2)))


def _run_case(session: BenchSession, case: RunRequest) -> YcsbResult:
    result = run_workload(session.settings, case)
    rate = f"{result.output.operations_per_second:,.0f} operations/s"
    how = "flushed" if case.flush else f"buffer {case.buffer:,}"
    print_progress(f"{case.workload.name}, {how}, {label_threads(case.threads)}: {rate}")
    return result


def _read_numbers(flag: str, text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise UserError(f"--{flag} {text!r} is no list of whole numbers such as 1,50") from None


EXPERIMENT = Experiment(
    name="ycsb",
    summary="YCSB's workloads by its own client, buffered and flushed, beside the figures of the 2014 study",
    metrics=METRICS,
    quick_options=(
        *("--records", "500", "--operations", "500", "--threads", "50"),
        *("--workloads", "A,C,D,E,insert", "--buffers", "100000"),
    ),
    quick_seconds=32,
    add_options=add_options,
    run=run,
    draw=draw,
)
