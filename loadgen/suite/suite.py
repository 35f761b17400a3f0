"""``watchfloor bench all``: every experiment, one after the other, into a run folder; then its report.

    folder ─▶ one stack for all that share it ─▶ each experiment, a process of its own ─▶ NAME.json ─▶ report

Called again with the same folder it goes on where it was interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from watchfloor.loadgen.experiments import experiment as experiments
from watchfloor.loadgen.experiments.experiment import Experiment
from watchfloor.loadgen.harness.measure import now
from watchfloor.loadgen.harness.paper import read_paper
from watchfloor.loadgen.harness.rig import say
from watchfloor.schema.errors import UserError, suggest
from watchfloor.schema.settings.settings import Settings, load_settings
from watchfloor.schema.settings.value import size
from watchfloor.store.stack.stack import down, up

from . import child
from .folder import RunFolder
from .report import require_libraries, write_report
from .surroundings import machine, versions

SUMMARY = "every experiment, one after the other, into a folder; then a report of all"
_QUICK_SECONDS: Mapping[str, float] = {
    "batching": 48,
    "blocks": 101,
    "cancel": 11,
    "ceiling": 24,
    "crossover": 21,
    "encodings": 68,
    "first-result": 17,
    "generator": 7,
    "ingest": 84,
    "memory": 10,
    "peers": 24,
    "readers": 7,
    "responsiveness": 74,
}
"""What each takes with ``--quick`` on two cores: the first guess."""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="the run's folder; one that was begun goes on"
    )
    parser.add_argument(
        "--home",
        metavar="DIR",
        default=os.environ.get("WATCHFLOOR_HOME"),
        help="measure on the running stack in DIR; without it one is started for this, and stopped",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and few samples")
    parser.add_argument("--only", metavar="NAME,…", help="these experiments, not all")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="of the generated events (default 1)")
    parser.add_argument("--paper", metavar="FILE", type=Path, help="for responsiveness: the paper's own values (JSON)")


def run_all(args: Namespace) -> int:
    """0 if every experiment has run, 1 if one failed."""
    require_libraries()
    if args.paper:
        read_paper(args.paper)
    surroundings = {"started": now().isoformat(), "machine": machine(), "versions": versions(load_settings())}
    folder = RunFolder(args.out.absolute(), args.quick, args.seed, surroundings)
    chosen = _chosen(args.only)
    waiting = [name for name, module in chosen.items() if not folder.ask(name, _options(name, module, args))]
    for name in chosen:
        if name not in waiting:
            say(f"{name} has run already: {folder.json(name)}")
    folder.save()
    try:
        failed = _run(folder, {name: chosen[name] for name in waiting}, args)
    except KeyboardInterrupt:
        say(f"interrupted; the same command goes on with what is not yet in {folder.path}")
        raise
    for name in failed:
        say(f"{name} FAILED; what it said is in {folder.log(name)}")
    if len(failed) < len(chosen):
        print(write_report(folder.path), flush=True)
    return 1 if failed else 0


def _run(folder: RunFolder, waiting: Mapping[str, Experiment], args: Namespace) -> list[str]:
    """Runs what waits; the names of those that failed. The stack that is shared is gone when others start theirs."""
    own = {name: module for name, module in waiting.items() if has_own_stack(module)}
    sharing = {name: module for name, module in waiting.items() if name not in own}
    progress = Progress([*sharing, *own], folder.seconds, _QUICK_SECONDS if args.quick else {})
    with _stack(args.home, list(sharing.values())) as stack:
        done = {name: _one(folder, name, module, args, stack, progress) for name, module in sharing.items()}
    done |= {name: _one(folder, name, module, args, None, progress) for name, module in own.items()}
    return [name for name, right in done.items() if not right]


def _one(
    folder: RunFolder, name: str, module: Experiment, args: Namespace, stack: Settings | None, progress: Progress
) -> bool:
    """Runs an experiment as a process of its own; whether it ended as it should."""
    progress.begin(name)
    began = time.monotonic()
    arguments = ["--json", str(folder.json(name)), "--seed", str(args.seed), *_options(name, module, args)]
    command, env = _command(name, arguments, stack)
    status = child.run(command, env, folder.log(name), progress.say)
    problem = f"exit status {status}: {_last_line(folder.log(name))}" if status else ""
    folder.ended(name, time.monotonic() - began, problem)
    progress.end(problem)
    return not problem


def _options(name: str, module: Experiment, args: Namespace) -> tuple[str, ...]:
    """What an experiment is asked beside its seed."""
    paper = ("--paper", str(args.paper.absolute())) if args.paper and name == "responsiveness" else ()
    return (*(module.QUICK if args.quick else ()), *paper)


def _chosen(only: str | None) -> dict[str, Experiment]:
    """The experiments of ``--only``, or all, in the order of ``NAMES``."""
    names = list(experiments.NAMES) if only is None else [name.strip() for name in only.split(",")]
    for name in names:
        if name not in experiments.NAMES:
            raise UserError(f"--only {name}: no such experiment{suggest(name, experiments.NAMES)}")
    return {name: experiment(name) for name in experiments.NAMES if name in names}


def experiment(name: str) -> Experiment:
    """The module of an experiment."""
    return cast(Experiment, importlib.import_module(f"watchfloor.loadgen.experiments.{experiments.NAMES[name]}.run"))


def has_own_stack(module: Experiment) -> bool:
    """Whether it starts its own, because it varies the servers."""
    return getattr(module, "OWN_STACK", False)


@contextmanager
def _stack(home: str | None, sharing: Sequence[Experiment]) -> Iterator[Settings | None]:
    """The stack in ``home``, or one with the largest tablet server that these want; None if nothing shares one."""
    if home or not sharing:
        yield load_settings(home=home) if home else None
        return
    heaps = [module.TSERVER_HEAP or load_settings().tserver_heap for module in sharing]
    with tempfile.TemporaryDirectory(prefix="watchfloor-bench-") as name:
        wanted = {"tservers": 1, "tserver_heap": max(heaps, key=size)}
        settings = load_settings(home=Path(name).resolve() / "home", overrides=wanted)
        try:
            up(settings, report=lambda line: say(f"  {line}"))
            yield settings
        finally:
            down(settings, report=lambda line: say(f"  {line}"))


def _command(name: str, arguments: Sequence[str], stack: Settings | None) -> tuple[list[str], dict[str, str]]:
    """What runs an experiment, and its environment: there the settings with which the stack was started."""
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "bench", name, *arguments]
    env = {key: value for key, value in os.environ.items() if key != "WATCHFLOOR_HOME"}
    if stack is None:
        return command, env
    started_with = {"WATCHFLOOR_TSERVERS": str(stack.tservers), "WATCHFLOOR_TSERVER_HEAP": stack.tserver_heap}
    return [*command, "--home", str(stack.home)], {**env, **started_with}


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")


class Progress:
    """Lines that say which experiment of how many runs, for how long all have, and about how long they will.

    An experiment is taken to last as long as it did when it last ran in this folder. One that never did is guessed: as
    long as ``usual`` says, by the pace of those that have; without that, as long as the mean of these.
    """

    def __init__(self, names: Sequence[str], seconds: Mapping[str, float], usual: Mapping[str, float]) -> None:
        self._names, self._seconds, self._usual = names, dict(seconds), usual
        self._started = self._began = time.monotonic()
        self._name = ""

    def begin(self, name: str) -> None:
        self._name, self._began = name, time.monotonic()
        self.say("begins")

    def end(self, problem: str) -> None:
        took = time.monotonic() - self._began
        self._seconds[self._name] = took
        self.say(f"FAILED after {took:.0f} s: {problem}" if problem else f"done in {took:.0f} s")

    def say(self, text: str) -> None:
        now = time.monotonic()
        place = self._names.index(self._name)
        left = self.left(place, now - self._began)
        about = "" if left is None else f", about {clock(left)} left"
        say(f"[{place + 1}/{len(self._names)} {self._name}, {clock(now - self._started)}{about}] {text}")

    def left(self, place: int, spent: float) -> float | None:
        """Seconds until all have ended, of which one has run for ``spent``; None if nothing tells."""
        if not self._seconds and not self._usual.keys() >= set(self._names):
            return None
        lasts = [self._lasts(name) for name in self._names[place:]]
        return max(0.0, lasts[0] - spent) + sum(lasts[1:])

    def _lasts(self, name: str) -> float:
        if name in self._seconds:
            return self._seconds[name]
        if name not in self._usual:
            return sum(self._seconds.values()) / len(self._seconds)
        known = self._seconds.keys() & self._usual.keys()
        pace = sum(self._seconds[each] for each in known) / sum(self._usual[each] for each in known) if known else 1.0
        return pace * self._usual[name]


def clock(seconds: float) -> str:
    """Minutes and seconds, or hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
