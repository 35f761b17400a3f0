"""``bench continuous-chaos``: linked lists are written while every server is killed, paused and restarted.

    clients write linked lists ─▶ a calm time ─▶ a plan of faults hits servers and clients ─▶ the clients stop after a
    flush ─▶ all servers are well ─▶ the table is verified: an entry that is pointed to and not there was lost

The plan is that of ``bench chaos`` for these processes: a pure function of the seed.
"""

from __future__ import annotations

import shutil
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

import psutil

from watchfloor.loadgen.continuous.ingest import IngestOptions
from watchfloor.loadgen.continuous.table import TableLayout, TableRows, create_table
from watchfloor.loadgen.continuous.verify import Verification, verify_table
from watchfloor.loadgen.experiments.chaos.faults.fault_plan import SERVERS, make_plan
from watchfloor.loadgen.experiments.chaos.faults.fault_runner import FaultRecord, FaultRunner
from watchfloor.loadgen.experiments.chaos.faults.processes import Processes
from watchfloor.loadgen.experiments.chaos.faults.services import Services
from watchfloor.loadgen.experiments.chaos.figures import FAULTS, LONGEST, make_fault_figures
from watchfloor.loadgen.experiments.chaos.folder import make_run_folder
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import StackError, UserError
from watchfloor.schema.files.paths import show_path
from watchfloor.store.stack.stack import start_stack

from .restarted_clients import RestartedClients

_TSERVERS = 2
_LONGEST = 24 * 60
_PATIENCE = 180
"""Seconds that recovery from the last faults may take."""
_POLL = 0.5
_WARM_UP = 5.0
_TABLE = TableRows("bench_continuous_chaos")

RECOVERY = Metric(
    "recovery_seconds", "s",
    "from the beginning of a fault until its process runs and answers again, and after that a flush has ended; a pause "
    "and the time until a restart count", title="time to recover from a fault",
)  # fmt: skip
RATE = Metric(
    "chaos_entries_per_second",
    "entries/s",
    "entries whose flush ended in this time / its seconds",
    title="speed of writing entries",
)
LOST = Metric(
    "chaos_throughput_lost", "", "1 - chaos_entries_per_second during the faults / that of the calm time before",
    better="lower", title="share of the speed that faults cost",
)  # fmt: skip
BROKEN = Metric(
    "continuous_broken",
    "",
    "undefined rows and corrupt entries that the verification found",
    better="lower",
    exact=True,
    title="undefined rows and corrupt entries",
)
ENTRIES = Metric("chaos_entries", "entries", "entries that were verified", "max", title="entries verified")
METRICS = (RECOVERY, LONGEST, FAULTS, RATE, LOST, ENTRIES, BROKEN)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--minutes", metavar="M", type=float, default=10.0, help="of faults (default 10)")
    parser.add_argument("--hours", metavar="H", type=float, help="of faults, instead of --minutes")
    parser.add_argument("--calm", metavar="S", type=float, default=30.0, help="seconds before the faults (default 30)")
    add_count(parser, "--clients", 2, "ingest clients")
    add_count(parser, "--interval", 20_000, "entries between two flushes")
    parser.add_argument(
        "--out", metavar="DIR", type=Path,
        help="new folder for logs and history (default: a temporary one, which is kept if entries are lost)",
    )  # fmt: skip


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    minutes = options.minutes if options.hours is None else 60 * options.hours
    if not 0.5 <= minutes <= _LONGEST or options.calm <= _WARM_UP:
        raise UserError(
            f"faults last for 0.5 to {_LONGEST} minutes, and the calm time is longer than {_WARM_UP:g} seconds"
        )
    folder = make_run_folder(options.out)
    start_stack(session.settings, _TSERVERS, lambda line: print_progress(f"  {line}"))
    create_table(session.settings, _TABLE, TableLayout(8))
    ingest = IngestOptions(interval=options.interval, buffer=10_000_000)
    clients = RestartedClients(session.settings, _TABLE, ingest, options.clients, options.seed)
    plan = make_plan(options.seed, 60 * minutes, (*SERVERS, "supervisor", *clients.names))
    print_progress(f"{len(plan)} faults in {minutes:g} minutes; logs and history are in {show_path(folder)}")
    processes = _StackAndClients(session, folder, clients)
    with processes:
        with clients:
            calm = _measure_calm(clients, options.calm)
            began = time.time()
            runner = FaultRunner(
                processes, plan, folder / "history.jsonl", clients.find_last_flush, clients.find_last_flush
            )
            with runner:
                while not runner.is_over:
                    time.sleep(_POLL)
                ended = time.time()
                _await_recovery(runner)
        _await_well(processes)
    verified = verify_table(session.settings, _TABLE, heard=lambda record: print_progress(f"  {record}"))
    print_progress(f"{verified}; {clients.restarts} clients were started")
    _keep_or_remove(folder, options.out, verified)
    faulty = clients.count_entries(began, ended) / (ended - began)
    return _make_figures(runner.records, runner.skipped, calm, faulty, verified)


class _StackAndClients(Processes):
    """The stack's servers, and the clients, as ``FaultRunner`` wants them."""

    def __init__(self, session: BenchSession, folder: Path, clients: RestartedClients) -> None:
        (folder / "log").mkdir()
        super().__init__(session.settings, Services(session.settings, folder / "log"))
        self._clients = clients

    def find_process(self, name: str) -> psutil.Process | None:
        return self._clients.find_process(name) if name in self._clients.names else super().find_process(name)


def _measure_calm(clients: RestartedClients, seconds: float) -> float:
    """Returns the entries a second while nothing happens, without the first seconds."""
    until = time.time() + 60
    while not clients.flushes:
        if time.time() > until:
            raise StackError("no ingest client has written anything within 60 s")
        time.sleep(_POLL)
    time.sleep(_WARM_UP)
    began = time.time()
    time.sleep(seconds - _WARM_UP)
    ended = time.time()
    return clients.count_entries(began, ended) / (ended - began)


def _await_recovery(runner: FaultRunner) -> None:
    until = time.monotonic() + _PATIENCE
    while runner.list_open() and time.monotonic() < until:
        time.sleep(_POLL)


def _await_well(processes: Processes) -> None:
    """Waits until all servers answer. Raises ``StackError`` if they do not."""
    until = time.monotonic() + _PATIENCE
    while unwell := processes.list_unwell():
        if time.monotonic() > until:
            raise StackError(f"not well {_PATIENCE} s after the last fault: {', '.join(unwell)}")
        time.sleep(_POLL)


def _keep_or_remove(folder: Path, out: Path | None, verified: Verification) -> None:
    if out is None and verified.is_right:
        shutil.rmtree(folder)
    elif not verified.is_right:
        print_progress(f"entries were lost or damaged; logs and history are in {show_path(folder)}")


def _make_figures(
    records: list[FaultRecord], skipped: int, calm: float, faulty: float, verified: Verification
) -> list[Figure]:
    return [
        *make_fault_figures(records, skipped, RECOVERY),
        Figure(RATE, (calm,), {"time": "calm"}),
        Figure(RATE, (faulty,), {"time": "faults"}),
        Figure(LOST, (1 - faulty / calm if calm else 0.0,)),
        Figure(ENTRIES, (float(verified.entries),)),
        Figure(BROKEN, (float(verified.undefined + verified.corrupt),), goal=Goal(0, at_most=True)),
    ]


EXPERIMENT = Experiment(
    name="continuous-chaos",
    summary="linked lists written while every server is killed and paused: nothing that was flushed is lost",
    metrics=METRICS,
    quick_options=("--minutes", "0.5", "--calm", "6", "--clients", "1"),
    quick_seconds=75,
    add_options=add_options,
    run=run,
    own_stack=True,
    must_meet_goals=True,
)
