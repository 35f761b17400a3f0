"""One run: starts all processes, lets faults, loads and questions run beside each other, and compares at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from watchfloor.api.tokens.token_file import FIRST_TOKEN_FILE
from watchfloor.ingest.queue.work_queue import queue_lag
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import OperatorError
from watchfloor.store.admin.tables import compact_source
from watchfloor.store.stack.home.checks import LOOPBACK, find_free_ports

from .answers.answer_checks import AnswerChecker, Differences
from .answers.final_checks import FinalChecks, check_records, describe_items
from .answers.ledger_watch import LedgerWatch
from .answers.questions import Inquirer, QuestionLoop
from .answers.rest_client import RestClient
from .faults.fault_plan import Fault
from .faults.fault_runner import FaultRecord, FaultRunner
from .faults.processes import Processes
from .faults.services import Services
from .load import FileSupply, RepeatedWork, TableWork
from .written.event_files import EventMaker
from .written.truth import SourceTruth

LAYOUTS = ("block", "cell")
_LOOPS = 2
"""The number of questions that are asked at the same time."""
_START_SECONDS = 120
_PATIENCE = 180
"""Seconds without any progress after which a run is over, whatever has not recovered or is not done."""
_COMMAND_SECONDS = 600
_POLL = 1.0


class ChaosRun:
    """A run in ``folder`` on the session's stack. ``run`` is called once; the figures are there after it."""

    def __init__(self, session: BenchSession, folder: Path, seed: int) -> None:
        self._session, self._folder, self._seed = session, folder, seed
        self.differences = Differences()
        self.outcomes: Counter[str] = Counter()
        self.answer_seconds: list[float] = []
        self.records: list[FaultRecord] = []
        self.skipped = self.compared = 0
        self._makers = {layout: EventMaker(seed, layout) for layout in LAYOUTS}
        self._truths = {layout: SourceTruth() for layout in LAYOUTS}
        for name in ("log", *LAYOUTS):
            (folder / name).mkdir()
        settings = session.settings
        self._services = Services(settings, folder / "log")
        (self._port,) = find_free_ports(1)
        self._rest = RestClient(LOOPBACK, self._port, settings.secret_folder / FIRST_TOKEN_FILE)
        self._processes = Processes(settings, self._services, self._rest)
        self._watch = LedgerWatch(session.store)
        self._inquirers = {
            layout: Inquirer(
                self._rest, AnswerChecker(maker, self._truths[layout], self.differences), maker.source_name
            )
            for layout, maker in self._makers.items()
        }

    def run(self, plan: Sequence[Fault]) -> None:
        """Runs all of it; differences are in ``differences``."""
        for maker in self._makers.values():
            self._session.store.catalog.register(maker.make_source())
        with ExitStack() as stack:
            stack.callback(self._services.stop)
            self._add_services()
            stack.enter_context(self._processes)
            stack.enter_context(self._watch)
            self._await("the services", lambda: not self._list_unwell(), _START_SECONDS)
            self._run_faults(plan)
            self._await_quiet()
            self._compare_everything()
        self._check_logs()

    def count_events(self) -> dict[str, int]:
        """Returns the number of events in the files by layout."""
        return {layout: sum(len(file.times) for file in truth.files.values()) for layout, truth in self._truths.items()}

    def count_items(self) -> dict[tuple[str, str], int]:
        """Returns the number of items that are done by layout and by the mode of the worker that ended them."""
        modes = self._services.worker_modes
        return Counter(
            (row.item.feed.partition(".")[2], modes.get(int(row.end.by.rpartition(":")[2]), "unknown worker"))
            for row in self._watch.rows
            if row.item is not None and row.end is not None and row.state == "done"
        )

    def describe_items(self) -> list[Mapping[str, Any]]:
        return describe_items(self._watch.rows)

    def find_done(self, layout: str) -> set[int]:
        """Returns the numbers of a layout's files that are done."""
        files = self._truths[layout].files
        done = self._watch.find_done_files({file.path: file.size for file in files.values()})
        return {number for number, file in files.items() if file.path in done}

    def _add_services(self) -> None:
        folders = [str(self._folder / layout) for layout in LAYOUTS]
        self._services.add("master", "master", "--watch", *folders)
        self._services.add("pool live", "worker", "--mode", "live")
        self._services.add("pool bulk", "worker", "--mode", "bulk")
        self._services.add("serve", "serve", "--port", str(self._port))
        self._services.add("compaction", "compact", self._makers["block"].source_name, pause=5)

    def _run_faults(self, plan: Sequence[Fault]) -> None:
        """Returns when all faults are over, and everything has recovered from them as far as it does."""
        loops = [QuestionLoop(self._inquirers, self.find_done, self._seed * 10 + n) for n in range(_LOOPS)]
        files = FileSupply(self._folder, self._makers, self._truths, self.find_done)
        tables = TableWork(self._session.store, self._makers, self._seed)
        with ExitStack() as stack:
            for work in (files.write_files, tables.work_on_table):
                stack.enter_context(RepeatedWork(work))
            for loop in loops:
                stack.enter_context(loop)
            runner = stack.enter_context(
                FaultRunner(
                    self._processes,
                    plan,
                    self._folder / "history.jsonl",
                    self._watch.last_end,
                    lambda: max(loop.last_ok for loop in loops),
                )
            )
            while not runner.is_over:
                time.sleep(_POLL)
            self._await("recovery from all faults", lambda: not runner.list_open(), _PATIENCE)
        self.records, self.skipped = runner.records, runner.skipped
        for loop in loops:
            self.outcomes += loop.outcomes
            self.answer_seconds += loop.seconds

    def _await_quiet(self) -> None:
        """Waits until all servers are well, the queue is empty and all items are done. Loads what was given up."""
        self._services.remove("compaction")
        self._await("all files to be done", lambda: self._count_open_files() == 0, _PATIENCE, self._count_open_files)
        failed = sorted({row.path for row in self._watch.rows if row.state == "failed"})
        if failed:
            print_progress(f"  {len(failed)} files have items that were given up; loading them as an operator would")
            self._services.run_command("load", "load", *failed, seconds=_COMMAND_SECONDS)
            self._await("the given up files", lambda: self._count_open_files() == 0, _PATIENCE, self._count_open_files)
        self._await("an empty queue", lambda: self._read_lag() == 0, _PATIENCE, self._read_lag)
        self._await("all processes", lambda: not self._list_unwell(), _PATIENCE)

    def _compare_everything(self) -> None:
        """Compares each layout as loaded; and when all its blocks or files are merged, which also folds its counts.

        Cells are compared while the merging of blocks waits for queries that may still read the old ones.
        """
        name = self._makers["block"].source_name
        self._compare_with_files("as loaded", "block")
        with ThreadPoolExecutor(1) as pool:
            merging = pool.submit(self._services.run_command, "compaction", "compact", name, seconds=_COMMAND_SECONDS)
            self._compare_with_files("as loaded", "cell")
            self._compare_compacted("cell")
            if status := merging.result():
                self.differences.add("compaction", name, f"ended with status {status}")
        self._compare_compacted("block")

    def _compare_compacted(self, layout: str) -> None:
        compact_source(self._session.store.connection, self._makers[layout].make_source())
        self._compare_with_files("compacted", layout)

    def _compare_with_files(self, when: str, layout: str) -> None:
        """Compares everything in this layout with the files."""
        print_progress(f"comparing, {when}: {layout}")
        maker, truth = self._makers[layout], self._truths[layout]
        checks = FinalChecks(self._inquirers[layout], maker, truth, self.differences, when)
        self.compared += checks.run()
        check_records(self._session.store, maker, truth, self._watch.rows, self.differences)

    def _check_logs(self) -> None:
        """Looks for tracebacks in what the commands have printed and logged."""
        for log in sorted((self._folder / "log").glob("*.log")):
            text = log.read_text(errors="replace")
            if (at := text.find("Traceback (most recent call last)")) >= 0:
                self.differences.add("traceback", log.name, text[at : at + 3000])

    def _await(
        self, what: str, is_reached: Callable[[], bool], patience: float, left: Callable[[], int | None] | None = None
    ) -> None:
        """Waits until something is reached; gives up, with a difference, after ``patience`` seconds without progress.

        Progress is a change of ``left``; without it the wait as a whole takes ``patience`` seconds at most.
        """
        before, since = left() if left else None, time.monotonic()
        while not is_reached():
            now = left() if left else None
            if now != before:
                before, since = now, time.monotonic()
            if time.monotonic() - since > patience:
                self.differences.add(
                    "patience", what, f"not after {patience} s; unwell: {self._list_unwell()}, left: {now}"
                )
                return
            time.sleep(_POLL)

    def _list_unwell(self) -> list[str]:
        names = ("master", "worker live", "worker bulk", "serve")
        return self._processes.list_unwell() + [name for name in names if not self._processes.is_well(name)]

    def _count_open_files(self) -> int:
        """Returns the number of files of which an item is neither done nor failed."""
        failed = {Path(row.path) for row in self._watch.rows if row.state == "failed"}
        return sum(
            file.path not in failed and number not in done
            for layout, truth in self._truths.items()
            for done in [self.find_done(layout)]
            for number, file in truth.files.items()
        )

    def _read_lag(self) -> int | None:
        try:
            return queue_lag(self._session.settings)
        except OperatorError:
            return None
