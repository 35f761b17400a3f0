"""``bench lookups``: rows written in bulk by codec, and look-ups of ten random rows by many executors.

    turn ─▶ codec ─▶ sorted files ─▶ bulk import ─▶ look-ups (cold) ─▶ the same again (warm) ─▶ one executor's alone

It follows E. Seidl, "Using HDFS Erasure Coding with Accumulo", 2019, whose figures stand beside ours;
``docs/measuring/lookups.md`` has the suite, which commands of its own run on a cluster.
"""

from __future__ import annotations

import secrets
from argparse import ArgumentParser, Namespace
from dataclasses import replace

from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count, parse_names
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.loadgen.lookups.look_up import drop_table_pages, repeat_lookups
from watchfloor.loadgen.lookups.options import CODECS, LookupLoad, LookupTable
from watchfloor.loadgen.lookups.write_table import write_table
from watchfloor.store.workloads.drop_table import drop_table

from .figures import METRICS, LookupTurns, make_figures, make_published_figures
from .plot import draw

STATES = ("cold", "warm")
ALONE = "warm, one executor"
"""The look-ups of the first executor once more, with no other beside it: they wait for nobody."""


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--rows", 1_000_000, "rows of ten columns")
    add_count(parser, "--executors", 16, "executors, threads of one Java process")
    add_count(parser, "--queries", 500, "look-ups of each executor")
    add_count(parser, "--tablets", 8, "tablets, and files")
    add_count(parser, "--writers", 2, "files that are written at once")
    add_count(parser, "--turns", 3, "samples of each case")
    parser.add_argument(
        "--warm-up", metavar="S", type=float, default=2.0, help="seconds until look-ups are timed (default 2)"
    )
    parser.add_argument(
        "--codecs", metavar="C,…", type=_parse_codecs, default=CODECS, help=f"default {','.join(CODECS)}"
    )


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    load = LookupLoad(options.executors, options.queries, seed=options.seed, warm_up=options.warm_up)
    turns = LookupTurns()
    name = f"bench_lookups_{secrets.token_hex(4)}"
    try:
        for turn in range(options.turns):
            for codec in shuffle_cases(options.codecs, turn):
                table = LookupTable(name, options.rows, codec, options.tablets, options.seed)
                _run_codec(session, table, load, options.writers, turns)
                print_progress(f"{codec}: turn {turn + 1} of {options.turns}")
    finally:
        drop_table(session.settings, name)
    return [*make_figures(options.codecs, turns), *make_published_figures()]


def _run_codec(session: BenchSession, table: LookupTable, load: LookupLoad, writers: int, turns: LookupTurns) -> None:
    """Writes a table and does the same look-ups twice: no block of new files is in a cache before the first round.

    Then the first executor does its own once more, alone.
    """
    await_rest(session.settings)
    written = write_table(session.settings, table, writers, again=True)
    turns.writes[table.codec].append(written)
    drop_table_pages(session.settings, written.table_id)
    for state, found in zip(STATES, repeat_lookups(session.settings, table.name, load, len(STATES)), strict=True):
        turns.lookups[table.codec, state].append(found)
    (found,) = repeat_lookups(session.settings, table.name, replace(load, executors=1), 1)
    turns.lookups[table.codec, ALONE].append(found)


def _parse_codecs(text: str) -> tuple[str, ...]:
    return parse_names(text, CODECS)


EXPERIMENT = Experiment(
    name="lookups",
    summary="rows written in bulk by codec, and look-ups of ten random rows, cold and warm, beside a study's",
    metrics=METRICS,
    quick_options=("--rows", "20000", "--queries", "10", "--turns", "1", "--tablets", "4", "--warm-up", "0.5"),
    quick_seconds=45,
    add_options=add_options,
    run=run,
    draw=draw,
    tserver_heap="3g",
)
