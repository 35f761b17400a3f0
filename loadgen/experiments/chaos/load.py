"""The work that goes on during a run beside the faults: new files for the master, and compactions of the tables."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from watchfloor.schema.errors import OperatorError
from watchfloor.store.admin.tables import compact_tables, flush_table, source_tables
from watchfloor.store.store import Store

from .answers.questions import FindDone
from .written.event_files import EventMaker
from .written.truth import SourceTruth

_BACKLOG = 8
"""The number of files of a source that are not done, at which no further file is written."""
_LINES = (500, 4000)
_WAIT_SECONDS = 0.5
_WORK_SECONDS = (3.0, 12.0)


class RepeatedWork:
    """Repeats a piece of work in a thread, until the end of its context.

    ``work`` does one piece and returns the seconds until the next. The thread is a daemon: what waits for a store that
    never comes back holds nobody up.
    """

    def __init__(self, work: Callable[[], float]) -> None:
        self._work = work
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> RepeatedWork:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(120)

    def _run(self) -> None:
        seconds = 0.0
        while not self._ended.wait(seconds):
            seconds = self._work()


class FileSupply:
    """Writes files into the watched folders, as many as the workers keep up with."""

    def __init__(
        self, folder: Path, makers: Mapping[str, EventMaker], truths: Mapping[str, SourceTruth], find_done: FindDone
    ) -> None:
        self._folder, self._makers, self._truths, self._find_done = folder, makers, truths, find_done

    def write_files(self) -> float:
        """Writes a file of each source whose backlog is small."""
        for layout, maker in self._makers.items():
            truth = self._truths[layout]
            number = len(truth.files)
            if number - len(self._find_done(layout)) >= _BACKLOG:
                continue
            lines = random.Random(f"lines {maker.seed} {layout} {number}").randint(*_LINES)
            path = self._folder / layout / f"{layout}-{number:05d}.log"
            written = path.with_suffix(".tmp")
            file = maker.write_file(written, number, lines)
            truth.add_file(file.moved_to(path))
            written.rename(path)
        return _WAIT_SECONDS


class TableWork:
    """Writes entries in memory to files, and merges files, of one table after the other."""

    def __init__(self, store: Store, makers: Mapping[str, EventMaker], seed: int) -> None:
        self._store, self._rng = store, random.Random(f"tables {seed}")
        self._tables = [table for maker in makers.values() for table in source_tables(maker.make_source())]

    def work_on_table(self) -> float:
        table = self._rng.choice(self._tables)
        with suppress(OperatorError):
            if self._rng.random() < 0.5:
                flush_table(self._store.connection, table)
            else:
                compact_tables(self._store.connection, [table])
        return self._rng.uniform(*_WORK_SECONDS)
