"""A machine of hypothesis that does to a source whatever may happen to it, and asks each time whether all agrees."""

from __future__ import annotations

import itertools
import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import logs_model as model
import pytest
from agreement import assert_agree, assert_records
from fault_points import READING_STEPS, RETRY_STEPS, Fault, Killed, mortal_worker, put_fault_points
from hypothesis import Phase, Verbosity
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from ingest_support import RUN, own

from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.ingest.maintenance.retry import retry_lines
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records import long_files
from watchfloor.schema.settings.settings import Settings
from watchfloor.store import store as store_module
from watchfloor.store.admin.tables import compact_source as compact_tables
from watchfloor.store.admin.tables import drop_source
from watchfloor.store.store import Store

COMPACTION_STEPS = ("begun", "written", "listed", "committed", "horizon", "deleted")
_numbers = itertools.count()

_hosts: st.SearchStrategy[Any] = st.sampled_from(["h0", "h1", "h2", 17])
_optional: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={"colour": st.sampled_from([0, 1, 2, "red"]), "size": st.sampled_from([10, 20, "big"])}
)
_minutes = st.one_of(st.integers(0, 5), st.integers(0, 90), st.integers(0, 3 * 1440))


@st.composite
def _drawn_lines(draw: st.DrawFn) -> str:
    """Draws lines: a few forms of event, each several times, over minutes, hours or days."""
    texts = []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 9)) == 0:
            texts.append('{"ts": \n')
            continue
        event = {"ts": model.START + 60 * draw(_minutes), "host": draw(_hosts), "n": draw(st.integers(0, 2))}
        more = draw(_optional)
        for number in range(draw(st.integers(1, 20))):
            line = {**event, "ts": event["ts"] + 7 * number, "text": f"t{number:03d}", **more}
            texts.append(json.dumps(line, separators=(",", ":")) + "\n")
    return "".join(texts)


_lines = _drawn_lines()
_faults = st.lists(
    st.tuples(st.sampled_from(READING_STEPS), st.integers(0, 3), st.booleans(), st.booleans()), max_size=3
)


class ExactMachine(RuleBasedStateMachine):
    """Loads, changes, kills, retries and compacts one source, and compares all answers with ``logs_model``."""

    settings: Settings
    """Those of the stack; set by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(store_module, "GRACE_SECONDS", 0.05)
        self.folder = tempfile.TemporaryDirectory(prefix="watchfloor-exact-")
        self.files: list[model.LogFile] = []
        self.items: dict[bytes, WorkItem] = {}
        self.changes: tuple[Any, ...] = ()
        self.tidy = True
        self.open: Store | None = None

    @property
    def store(self) -> Store:
        assert self.open is not None
        return self.open

    @initialize(
        layout=st.sampled_from(["cell", "block"]),
        unknown=st.sampled_from(["extra", "quarantine"]),
        mode=st.sampled_from(["live", "bulk"]),
        early=st.booleans(),
        item_bytes=st.sampled_from([512, 4 << 10, 32 << 10]),
        lines=_lines,
    )
    def make_source(self, layout: str, unknown: str, mode: str, early: bool, item_bytes: int, lines: str) -> None:
        """Makes a source and loads its first file. With ``early`` short files too are queued before they are hashed."""
        if early:
            self.patch.setattr(long_files, "LONG_BYTES", 1)
        self.name, self.layout, self.unknown = f"exact{RUN}.s{next(_numbers)}", layout, unknown
        bulk = 8 if mode == "bulk" else 1  # a bulk load makes its items so much longer
        self.own = own(self.settings, "exact", partitions=1, item_bytes=item_bytes // bulk, ingest_mode=mode)
        self.points = put_fault_points(self.patch, self.name)
        self.open = Store.open(self.own)
        self.register()
        self.load_new(lines, False, [], 0)

    def register(self) -> None:
        wanted = model.make_definition(self.name, self.layout, self.unknown, self.changes)
        self.kind = self.store.catalog.register(wanted)

    def change_definition(self, number: int) -> None:
        """Makes the ``number``-th of the changes that are left, if there are so many."""
        left = [change for change in model.CHANGES if change not in self.changes]
        if number < len(left):
            self.changes = (*self.changes, left[number])
            self.register()

    @rule(lines=_lines, compressed=st.booleans(), faults=_faults, change=st.integers(0, 3))
    @precondition(lambda self: len(self.files) < 4)
    def load_new(self, lines: str, compressed: bool, faults: list[Any], change: int) -> None:
        path = Path(self.folder.name).resolve() / f"{len(self.files)}.log{'.gz' * compressed}"
        self.files.append(model.LogFile(path, compressed))
        # The first words of a file are its own: its content is no other file's.
        self.files[-1].append(json.dumps({"file": path.name, "source": self.name}) + "\n" + lines)
        self.load(self.files[-1], faults, change)

    @rule(
        pick=st.integers(0, 3), lines=_drawn_lines(), cut=st.integers(0, 40), faults=_faults, change=st.integers(0, 3)
    )
    def load_grown(self, pick: int, lines: str, cut: int, faults: list[Any], change: int) -> None:
        """Loads a file that has grown. The last line may end later, when the file grows again."""
        self.files[pick % len(self.files)].append(lines[: len(lines) - cut] or lines)
        self.load(self.files[pick % len(self.files)], faults, change)

    @rule(pick=st.integers(0, 3), again=st.booleans(), faults=_faults, change=st.integers(0, 3))
    def load_again(self, pick: int, again: bool, faults: list[Any], change: int) -> None:
        self.load(self.files[pick % len(self.files)], faults, change, again)

    @rule(number=st.integers(0, 3))
    def change(self, number: int) -> None:
        self.change_definition(number)

    @rule(step=st.sampled_from(("", *RETRY_STEPS)))
    def retry(self, step: str) -> None:
        """Retries all lines. A claim that is under way is completed without breaking off once more."""
        lines = [line for file in self.files for line in file.lines]
        pending = any(line.claimed and not line.retried for line in lines)
        self.points.faults = [Fault(step)] if step and not pending else []
        broken = self.attempt_retry()
        for item_id in self.points.retried:
            if broken and item_id == self.points.retried[-1]:
                model.break_retry(self.lines_of(item_id), self.kind, step)
            else:
                model.retry_lines(self.lines_of(item_id), self.kind)

    @rule(breaks=st.lists(st.tuples(st.sampled_from(RETRY_STEPS[:2]), st.integers(0, 3)), min_size=1, max_size=3))
    def retry_often(self, breaks: list[tuple[str, int]]) -> None:
        """Breaks off retries, with other definitions between them, and completes them."""
        for step, number in breaks:
            self.points.faults = [Fault(step)]
            self.attempt_retry()
            self.change_definition(number)
        self.points.faults = []
        assert not self.attempt_retry()
        for file in self.files:
            model.retry_lines(file.lines, self.kind)

    @rule(step=st.sampled_from((*COMPACTION_STEPS, "")), index=st.booleans())
    def compact(self, step: str, index: bool) -> None:
        if self.layout == "cell":
            compact_tables(self.store.connection, self.kind)
            return

        def die(done: str) -> None:
            if done == step:
                raise Killed(step)

        self.tidy = False
        with suppress(Killed):
            compact_source(self.store, self.name, 0, die, index)
            self.tidy = True
        self.kind = self.store.catalog.read_sources()[self.name]

    @invariant()
    def agrees(self) -> None:
        """Compares everything, of all times and of some minutes that are no whole minutes."""
        if self.files:
            first = model.START * 1_000_000
            assert_agree(self.store, self.kind, self.files, (first + 35_000_000, first + 93 * 60_000_000), self.tidy)
            assert_records(self.store, self.files)

    def teardown(self) -> None:
        self.patch.undo()
        if self.open is not None:
            drop_source(self.open.connection, self.kind)
            self.open.close()
        self.folder.cleanup()

    def load(self, file: model.LogFile, faults: list[Any], change: int, again: bool = False) -> None:
        """Loads a file while workers die, and accounts for what was read last."""
        file.queue()

        def change_now() -> None:
            self.change_definition(change)

        self.points.faults = [
            Fault(step, skip, change_now if changes else lambda: None, deadly) for step, skip, changes, deadly in faults
        ]
        self.points.read_by.clear()
        for _ in range(2):
            run = Load(self.own, [file.path], self.name, workers=0, again=again)
            with mortal_worker(self.own):
                for _ in run:
                    pass
            if not run.result.failed:  # an item that has taken three workers with it is given up until the next load
                break
            self.points.faults, again = [], False
        assert not run.result.failed
        self.points.faults = []
        for item, kind in self.points.read_by.values():
            assert kind is not None
            model.read_lines(file.find_lines(item.length, item.start, item.end), kind)
            self.items[item.item_id] = item

    def lines_of(self, item_id: bytes) -> list[model.Line]:
        item = self.items[item_id]
        file = next(file for file in self.files if str(file.path) == item.path)
        return file.find_lines(item.length, item.start, item.end)

    def attempt_retry(self) -> bool:
        """Retries all lines; returns whether that broke off."""
        self.points.retried.clear()
        try:
            for file in self.files:
                retry_lines(self.store, str(file.path))
        except Killed:
            return True
        return False


def run_machine(settings: Settings, examples: int, steps: int) -> None:
    """Runs ``examples`` sequences of ``steps`` steps. Each step is printed: what a fault does may depend on threads."""

    class Machine(ExactMachine):
        pass

    Machine.settings = settings
    # Shrinking would repeat a sequence of seconds hundreds of times.
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    run_state_machine_as_test(
        Machine,
        settings=hypothesis_settings(
            max_examples=examples, stateful_step_count=steps, phases=phases, verbosity=Verbosity.debug
        ),
    )
