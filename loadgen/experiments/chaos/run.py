"""``bench chaos``: nothing is lost, doubled or wrong while every process is killed, paused and restarted.

    files ─▶ master ─▶ queue ─▶ a live and a bulk worker ─▶ tables of both layouts ◀─ compactions
                 a plan of faults hits them all ┄┄┄ questions are asked and their answers checked
        ─▶ all is done ─▶ everything is compared with the files ─▶ tables compacted ─▶ compared again

The plan of faults and the content of the files follow from the seed; what happens at which moment does not.
``docs/measuring/chaos.md`` describes a run, and what to do with a difference.
"""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path

from watchfloor.loadgen.harness.experiment import Experiment
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import show_path
from watchfloor.store.stack.stack import start_stack

from .chaos_run import ChaosRun
from .faults.fault_plan import make_plan
from .figures import METRICS, make_answer_figures, make_difference_figure, make_fault_figures, make_load_figures
from .folder import make_run_folder

_LONGEST = 24 * 60
_TSERVERS = 2


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--minutes", metavar="M", type=float, default=10.0, help=f"of faults, 0.5 to {_LONGEST} (default 10)"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="new folder for files, logs and history, with a difference also for evidence and the stack's data "
        "(default: a temporary one, which is kept if there is a difference)",
    )


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if not 0.5 <= options.minutes <= _LONGEST:
        raise UserError(f"--minutes is {options.minutes:g}; it must lie between 0.5 and {_LONGEST}")
    folder = make_run_folder(options.out)
    plan = make_plan(options.seed, options.minutes * 60)
    print_progress(
        f"{len(plan)} faults in {options.minutes:g} minutes; files, logs and history are in {show_path(folder)}"
    )
    start_stack(session.settings, _TSERVERS, lambda line: print_progress(f"  {line}"))
    chaos = ChaosRun(session, folder, options.seed)
    chaos.run(plan)
    found = chaos.differences.found
    if found:
        _keep_evidence(session, chaos, folder)
    elif options.out is None:
        shutil.rmtree(folder)
    for difference in found[:20]:
        print_progress(f"DIFFERENCE {difference.check}, {difference.source}: {difference.detail[:300]}")
    return [
        *make_fault_figures(chaos.records, chaos.skipped),
        *make_load_figures(chaos.count_events(), chaos.count_items()),
        *make_answer_figures(chaos.outcomes, chaos.answer_seconds, chaos.compared),
        make_difference_figure(len(found), str(folder)),
    ]


def _keep_evidence(session: BenchSession, chaos: ChaosRun, folder: Path) -> None:
    """Writes differences and the states of all items, and copies the stack's logs and data."""
    differences = [difference.to_json() for difference in chaos.differences.found]
    for name, content in (("differences", differences), ("items", chaos.describe_items())):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1, default=str))
    for part in ("log", "conf", "data"):
        shutil.copytree(session.settings.home / part, folder / "home" / part, ignore_dangling_symlinks=True)


EXPERIMENT = Experiment(
    name="chaos",
    summary="loads, compactions and questions while every process is killed, paused and restarted: nothing may differ",
    metrics=METRICS,
    quick_options=("--minutes", "0.5"),
    quick_seconds=170,
    add_options=add_options,
    run=run,
    tserver_heap="384m",
    own_stack=True,
    must_meet_goals=True,
)
