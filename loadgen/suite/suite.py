"""``watchfloor bench all``: every experiment, one after the other, into a run folder; then its report.

    folder ─▶ one stack for all that share it ─▶ each experiment, a process of its own ─▶ NAME.json ─▶ report

A second call with the same folder continues where the first was interrupted.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from watchfloor.loadgen.experiments.registry import list_names, load_experiment
from watchfloor.loadgen.harness.experiment import Experiment
from watchfloor.loadgen.harness.measurement.measurement import current_time
from watchfloor.loadgen.harness.session import print_progress
from watchfloor.loadgen.report.report import require_libraries, write_report
from watchfloor.loadgen.report.run_folder import RunFolder
from watchfloor.schema.errors import UserError, suggest_names
from watchfloor.schema.files.paths import find_named_path, find_path, show_path
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.parse_setting import parse_size
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.stack import discard_stack, start_stack

from .child_process import run_child
from .progress import SuiteProgress
from .surroundings import describe_machine, find_versions

SUMMARY = "every experiment, one after the other, into a folder; then a report of all"


def add_options(parser: ArgumentParser, experiments: Sequence[Experiment]) -> None:
    """Adds the options of ``bench all``, which include the input files of the experiments."""
    parser.add_argument(
        "--out", metavar="DIR", type=find_named_path, required=True, help="the run's folder; one that was begun goes on"
    )
    parser.add_argument(
        "--home",
        metavar="DIR",
        default=os.environ.get("WATCHFLOOR_HOME"),
        type=find_path,
        help="measure on the running stack in DIR; without it one is started for this, and stopped",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and few samples")
    parser.add_argument("--only", metavar="NAME,…", help="these experiments, not all")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="of the generated events (default 1)")
    for experiment in experiments:
        for file in experiment.input_files:
            parser.add_argument(
                f"--{file.name}", metavar="FILE", type=find_named_path, help=f"for {experiment.name}: {file.help}"
            )


def run_all(args: Namespace) -> int:
    """Runs the experiments that have not run yet and writes the report. Returns 1 if an experiment failed, else 0."""
    require_libraries()
    chosen = _choose(args.only)
    for experiment in chosen.values():
        for file in experiment.input_files:
            if path := getattr(args, file.name):
                file.check(path)
    surroundings = {
        "started": current_time().isoformat(),
        "machine": describe_machine(),
        "versions": find_versions(load_settings()),
    }
    folder = RunFolder(args.out.absolute(), args.quick, args.seed, surroundings)
    waiting = {
        name: each for name, each in chosen.items() if not folder.request_experiment(name, _make_options(each, args))
    }
    for name in chosen:
        if name not in waiting:
            print_progress(f"{name} has run already: {show_path(folder.json_path(name))}")
    folder.save()
    try:
        failed = _run_waiting(folder, waiting, args)
    except KeyboardInterrupt:
        print_progress(f"interrupted; the same command goes on with what is not yet in {show_path(folder.path)}")
        raise
    for name in failed:
        print_progress(f"{name} FAILED; what it said is in {show_path(folder.log_path(name))}")
    if len(failed) < len(chosen):
        print(show_path(write_report(folder.path)), flush=True)
    return 1 if failed else 0


def _run_waiting(folder: RunFolder, waiting: Mapping[str, Experiment], args: Namespace) -> list[str]:
    """Runs the experiments and returns the names of those that failed.

    The shared stack is stopped before the experiments with a stack of their own start theirs; those that need none run
    then too.
    """
    own = {name: each for name, each in waiting.items() if each.own_stack or each.run is None}
    sharing = {name: each for name, each in waiting.items() if name not in own}
    usual = {name: each.quick_seconds for name, each in waiting.items()} if args.quick else {}
    progress = SuiteProgress([*sharing, *own], folder.seconds, usual)
    with _open_stack(args.home, list(sharing.values())) as stack:
        done = {name: _run_one(folder, each, args, stack, progress) for name, each in sharing.items()}
    done |= {name: _run_one(folder, each, args, None, progress) for name, each in own.items()}
    return [name for name, right in done.items() if not right]


def _run_one(
    folder: RunFolder, experiment: Experiment, args: Namespace, stack: Settings | None, progress: SuiteProgress
) -> bool:
    """Runs an experiment as a process of its own. Returns False if it failed."""
    name = experiment.name
    progress.begin(name)
    began = time.monotonic()
    arguments = ["--json", str(folder.json_path(name)), "--seed", str(args.seed), *_make_options(experiment, args)]
    command, env = _make_command(name, arguments, stack)
    status = run_child(command, env, folder.log_path(name), progress.print_line)
    problem = f"exit status {status}: {_read_last_line(folder.log_path(name))}" if status else ""
    folder.record_end(name, time.monotonic() - began, problem)
    progress.end(problem)
    return not problem


def _make_options(experiment: Experiment, args: Namespace) -> tuple[str, ...]:
    """Returns the options of an experiment's run, except its seed."""
    files = [(file.name, getattr(args, file.name)) for file in experiment.input_files]
    passed_on = [word for name, path in files if path for word in (f"--{name}", str(path.absolute()))]
    return (*(experiment.quick_options if args.quick else ()), *passed_on)


def _choose(only: str | None) -> dict[str, Experiment]:
    """Loads the experiments of ``--only``, or all but those that want to be named, in alphabetical order."""
    known = list_names()
    names = known if only is None else [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            raise UserError(f"--only {name}: no such experiment{suggest_names(name, known)}")
    chosen = {name: load_experiment(name) for name in known if name in names}
    return {name: each for name, each in chosen.items() if only is not None or not each.named_only}


@contextmanager
def _open_stack(home: str | None, sharing: Sequence[Experiment]) -> Iterator[Settings | None]:
    """Yields the settings of the stack in ``home``, or of one that is started for the block.

    A started stack has the largest tablet server heap that the experiments need. Yields None if no experiment shares a
    stack.
    """
    if home or not sharing:
        yield load_settings(home=home) if home else None
        return
    heaps = [heap for experiment in sharing if (heap := experiment.tserver_heap or load_settings().tserver_heap)]
    with tempfile.TemporaryDirectory(prefix="watchfloor-bench-") as name:
        largest = {"tserver_heap": max(heaps, key=parse_size)} if heaps else {}
        overrides = {"tservers": 1, "standing_workers": 0, "calibration": "off", **largest}
        settings = load_settings(home=Path(name).resolve() / "home", overrides=overrides)
        try:
            start_stack(settings, report=lambda line: print_progress(f"  {line}"))
            yield settings
        finally:
            discard_stack(settings)


def _make_command(name: str, arguments: Sequence[str], stack: Settings | None) -> tuple[list[str], dict[str, str]]:
    """Returns the command that runs an experiment, and its environment.

    The environment has the settings with which the stack was started.
    """
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "bench", name, *arguments]
    env = {key: value for key, value in os.environ.items() if key != "WATCHFLOOR_HOME"}
    if stack is None:
        return command, env
    started_with = {"WATCHFLOOR_TSERVERS": str(stack.tservers), "WATCHFLOOR_TSERVER_HEAP": stack.tserver_heap}
    return [*command, "--home", str(stack.home)], {**env, **started_with}


def _read_last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")
