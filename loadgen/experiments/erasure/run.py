"""``bench erasure``: look-ups, files and bulk writes in HDFS, erasure-coded and replicated, also with nodes lost.

    a stack with HDFS ─▶ bulk writes by policy and codec ─▶ files by policy and parallelism, a table by policy
    ─▶ look-ups and files read: all DataNodes up ─▶ two killed, as the NameNode has noticed
    ─▶ both back with empty disks, and all parts made anew

It follows E. Seidl, "Using HDFS Erasure Coding with Accumulo", 2019. The stack is one of this experiment's own.
"""

from __future__ import annotations

import shutil
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import replace

from watchfloor.loadgen.harness.experiment import Experiment, add_count, parse_names
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress, use_second_home
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.loadgen.lookups.look_up import repeat_lookups
from watchfloor.loadgen.lookups.options import CODECS, LookupLoad, LookupTable
from watchfloor.loadgen.lookups.write_table import write_table
from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor
from watchfloor.store.store import Store
from watchfloor.store.workloads.coded_files import (
    await_all_parts,
    await_missing_parts,
    count_disk_bytes,
    count_missing_parts,
    read_files,
    table_folder,
    write_files,
)
from watchfloor.store.workloads.drop_table import drop_table

from .figures import ALL_UP, KILLED, METRICS, POLICIES, REPAIRED, ErasureTurns, make_figures
from .plot import draw

_PARTS = {"RS-6-3-64k": 9, "RS-6-3-1024k": 9, "RS-10-4-1024k": 14}
_LOST = ("datanode2", "datanode3")
_FOLDER = "bench-erasure"
_MOST_AT_ONCE = 256
_START_SECONDS = 400
_NOTICE_SECONDS = 120
_REPAIR_SECONDS = 1800


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--datanodes", 14, "DataNodes; RS-6-3 needs 9 and RS-10-4 needs 14")
    add_count(parser, "--rows", 2_000_000, "rows of ten columns of each table that is asked for rows")
    add_count(parser, "--bulk-rows", 500_000, "rows of each table that is only written")
    add_count(parser, "--executors", 16, "executors that look rows up, threads of one Java process")
    add_count(parser, "--queries", 200, "look-ups of each executor")
    add_count(parser, "--tablets", 2, "tablets of a table, and files")
    add_count(parser, "--writers", 2, "files of a table that are written at once")
    add_count(parser, "--megabytes", 512, "MiB of the files that are written and read whole")
    add_count(parser, "--turns", 3, "samples of each case")
    parser.add_argument(
        "--codecs", metavar="C,…", type=_parse_codecs, default=("gz", "none", "snappy"), help="default gz,none,snappy"
    )
    parser.add_argument(
        "--at-once",
        metavar="N,…",
        type=_parse_counts,
        default=(1, 8),
        help="files read or written at once (default 1,8)",
    )
    parser.add_argument(
        "--policies", metavar="P,…", type=_parse_policies, default=tuple(POLICIES), help=f"default {','.join(POLICIES)}"
    )


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    policies, codecs, counts = _choose_policies(options), options.codecs, options.at_once
    turns = ErasureTurns()
    with use_second_home(session, "hdfs") as plain:
        settings = replace(plain, up_seconds=max(plain.up_seconds, _START_SECONDS))
        start_stack(settings, report=lambda line: print_progress(f"  {line}"), datanodes=options.datanodes)
        # It makes the instance's tables, whose settings tell clients where its files are.
        Store.open(settings).close()
        _write_in_bulk(settings, options, policies, codecs, turns)
        _write_whole(settings, options, policies, counts, turns)
        folders = [_FOLDER]
        for policy in policies:
            written = write_table(settings, _make_table(options, policy), options.writers, again=True)
            folders.append(table_folder(written.table_id))
        _read_all(settings, options, policies, counts, ALL_UP, turns)
        _kill_datanodes(settings, folders)
        _read_all(settings, options, policies, counts, KILLED, turns)
        turns.missing_parts = count_missing_parts(settings, folders)
        turns.repairs.append(_repair_files(settings, folders))
        _read_all(settings, options, policies, counts, REPAIRED, turns)
    return list(make_figures(turns))


def _choose_policies(options: Namespace) -> list[str]:
    """Returns those of the wanted policies whose parts fit on the DataNodes, one on each."""
    fitting = [policy for policy in options.policies if _PARTS.get(policy, 3) <= options.datanodes]
    if left := [policy for policy in options.policies if policy not in fitting]:
        print_progress(f"{', '.join(left)}: not measured, {options.datanodes} DataNodes are too few")
    if not fitting:
        raise UserError(f"--datanodes {options.datanodes}: too few for each of --policies")
    return fitting


def _make_table(options: Namespace, policy: str, codec: str = "gz") -> LookupTable:
    name = f"bench_erasure_{policy.replace('-', '_').lower()}"
    return LookupTable(name, options.rows, codec, options.tablets, options.seed, POLICIES[policy], cached=False)


def _write_in_bulk(
    settings: Settings, options: Namespace, policies: Sequence[str], codecs: Sequence[str], turns: ErasureTurns
) -> None:
    """Writes a table by policy and codec, turn by turn."""
    cases = [(policy, codec) for codec in codecs for policy in policies]
    for turn in range(options.turns):
        for policy, codec in shuffle_cases(cases, turn):
            table = replace(_make_table(options, policy, codec), name="bench_erasure_bulk", rows=options.bulk_rows)
            written = write_table(settings, table, options.writers, again=True)
            turns.bulk_writes[policy, codec].append(written.row_rate / options.writers)
            turns.disk[policy, codec].append(count_disk_bytes(settings, table_folder(written.table_id)) / table.rows)
            print_progress(f"{policy}, {codec}: {written.row_rate:,.0f} rows/s")
    drop_table(settings, "bench_erasure_bulk")


def _write_whole(
    settings: Settings, options: Namespace, policies: Sequence[str], counts: Sequence[int], turns: ErasureTurns
) -> None:
    """Writes files by policy and parallelism; those of the last turn are read later."""
    cases = [(policy, count) for count in counts for policy in policies]
    for turn in range(options.turns):
        for policy, count in shuffle_cases(cases, turn):
            folder = f"{_FOLDER}/{policy}-{count}"
            written = write_files(settings, folder, POLICIES[policy], count, options.megabytes)
            turns.file_writes[policy, str(count)].append(written.megabytes_per_second)
            print_progress(f"{policy}, {count} at once: {written.megabytes_per_second:,.0f} MB/s written")


def _read_all(
    settings: Settings,
    options: Namespace,
    policies: Sequence[str],
    counts: Sequence[int],
    state: str,
    turns: ErasureTurns,
) -> None:
    """Looks rows up and reads files whole in one state of the DataNodes, turn by turn."""
    load = LookupLoad(options.executors, options.queries, seed=options.seed, warm_up=1.0)
    for turn in range(options.turns):
        for policy in shuffle_cases(policies, turn):
            (found,) = repeat_lookups(settings, _make_table(options, policy).name, load, 1)
            turns.lookups[policy, state].append(found)
            print_progress(f"{policy}, {state}: {found.latencies.mean:.1f} ms a look-up")
            for count in counts:
                read = read_files(settings, f"{_FOLDER}/{policy}-{count}")
                turns.file_reads[policy, str(count), state].append(read.megabytes_per_second)
                print_progress(f"{policy}, {count} at once, {state}: {read.megabytes_per_second:,.0f} MB/s read")


def _kill_datanodes(settings: Settings, folders: Sequence[str]) -> None:
    """Kills two DataNodes for good, and waits until the NameNode has noticed.

    It then repairs what may be on the other DataNodes: with 9 of them nothing that is coded by RS-6-3.
    """
    await_all_parts(settings, folders, _REPAIR_SECONDS)
    stop_supervisor(settings)
    for name in _LOST:
        if process := find_process(settings.home / "run" / f"{name}.json"):
            process.kill()
            process.wait()
    missing = await_missing_parts(settings, folders, _NOTICE_SECONDS)
    print_progress(f"two DataNodes are dead: {missing:,} parts are missing")


def _repair_files(settings: Settings, folders: Sequence[str]) -> float:
    """Starts the two DataNodes with empty disks; returns the seconds from then until no file lacks a part."""
    for name in _LOST:
        shutil.rmtree(settings.home / "data/hdfs" / name, ignore_errors=True)
    began = time.monotonic()
    start_stack(settings)
    await_all_parts(settings, folders, _REPAIR_SECONDS)
    seconds = time.monotonic() - began
    print_progress(f"all parts are there again after {seconds:,.1f} s")
    return seconds


def _parse_codecs(text: str) -> tuple[str, ...]:
    return parse_names(text, CODECS)


def _parse_policies(text: str) -> tuple[str, ...]:
    return parse_names(text, POLICIES)


def _parse_counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(dict.fromkeys(map(int, text.split(","))))
    except ValueError:
        counts = ()
    if not counts or not all(0 < count <= _MOST_AT_ONCE for count in counts):
        raise ArgumentTypeError(f"{text!r} is not a list of numbers from 1 to {_MOST_AT_ONCE}, such as 1,8")
    return counts


EXPERIMENT = Experiment(
    name="erasure",
    summary="the erasure-coding study: look-ups, files and bulk writes in HDFS by policy, also with two nodes lost",
    metrics=METRICS,
    quick_options=(
        *("--datanodes", "9", "--rows", "20000", "--bulk-rows", "20000", "--queries", "10", "--turns", "1"),
        *("--megabytes", "32", "--codecs", "gz,none", "--at-once", "1,4"),
    ),
    quick_seconds=300,
    add_options=add_options,
    run=run,
    draw=draw,
    own_stack=True,
    named_only=True,
)
