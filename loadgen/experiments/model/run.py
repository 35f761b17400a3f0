"""``bench model``: predicts the published ingest rates of up to a thousand nodes, and our own saturation curve.

    one run of the smallest cluster ─▶ fitted costs ─▶ simulation of every other run ─▶ predicted / published
    one worker, measured ────────────▶ event costs ──▶ simulation of more workers ───▶ predicted / measured

It needs no stack. ``docs/measuring/model.md`` has the assumptions, the parameters and the errors.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator

from watchfloor.loadgen.harness.experiment import Experiment, InputFile
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import print_progress
from watchfloor.loadgen.model.own_pipeline import PROFILE, CurvePoint, predict_curve, read_profile
from watchfloor.loadgen.model.prediction import RunPrediction, fit_costs, predict_run, read_calibration
from watchfloor.loadgen.model.published_runs import NODES, list_runs

from .plot import draw

TABLES = ("6-1", "6-2", "6-3", "6-4", "6-10", "7-1", "7-2", "7-3")
"""The study's tables of runs that only ingest."""
LEAST, MOST = 0.7, 1.3
"""The bounds of predicted / published that the model should keep."""
OWN_LEAST, OWN_MOST = 0.85, 1.15
PUBLISHED = Metric(
    "published_entries_per_second",
    "entries/s",
    "mean rate of a run, as published",
    better=None,
    title="mean rate as published",
)
PREDICTED = Metric(
    "predicted_entries_per_second",
    "entries/s",
    "mean rate of the simulated run",
    better=None,
    title="mean rate as simulated",
)
RATIO = Metric(
    "predicted_to_published",
    "",
    f"predicted_entries_per_second / published_entries_per_second; goal: at most {MOST:g}, and over {LEAST:g}",
    title="simulated / published mean rate",
)
MAX_RATIO = Metric(
    "predicted_to_published_maximum",
    "",
    "highest rate over 30 s, simulated / highest rate, as published",
    title="simulated / published highest rate",
)
MEASURED_HERE = Metric(
    "measured_events_per_second",
    "events/s",
    "steady rate of workers by bench ingest",
    better=None,
    title="rate of workers as measured",
)
PREDICTED_HERE = Metric(
    "predicted_events_per_second",
    "events/s",
    "rate of simulated workers",
    better=None,
    title="rate of workers as simulated",
)
RATIO_HERE = Metric(
    "predicted_to_measured",
    "",
    "predicted_events_per_second / measured_events_per_second; goal: from 0.85 to 1.15",
    title="simulated / measured rate of workers",
)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tables",
        metavar="N,…",
        type=_parse_tables,
        default=TABLES,
        help=f"these tables of the study only (default {','.join(TABLES)})",
    )
    parser.add_argument("--fit", action="store_true", help="fit the free costs anew, in place of those that are kept")


def compute(options: Namespace) -> list[Figure]:
    profile = read_profile(options.measured or PROFILE)
    runs = list(list_runs())
    calibration = read_calibration()
    if options.fit:
        for name in NODES:
            print_progress(f"{name}: fitting the speed of a core and the seconds of a split")
            calibration[name] = fit_costs(runs, name)
            print_progress(f"{name}: {calibration[name]}")
    figures: list[Figure] = []
    for run in (run for run in runs if run.table in options.tables):
        print_progress(f"table {run.table}, {run.cluster_name}, {run.label}")
        prediction = predict_run(run, calibration[run.cluster_name].make_costs(), options.seed)
        figures += _make_published_figures(prediction)
    for tablet_servers in sorted({load.tablet_servers for load in profile.loads}):
        for point in predict_curve(profile, tablet_servers):
            figures += _make_own_figures(point)
    return figures


def _parse_tables(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in TABLES:
            raise ArgumentTypeError(f"{name!r} is no table of ingest: choose from {', '.join(TABLES)}")
    return names


def _make_published_figures(prediction: RunPrediction) -> Iterator[Figure]:
    run = prediction.run
    fitted = run.fits is not None
    labels = {
        "table": f"table {run.table}",
        "cluster": run.cluster_name,
        "run": run.label,
        "kind": "calibration" if fitted else "prediction",
    }
    ratio, simulated = prediction.ratio, prediction.result.mean_rate
    rates = f"{simulated / 1e6:.2f} / {run.mean_rate / 1e6:.2f} million entries/s"
    yield Figure(PUBLISHED, (run.mean_rate,), labels)
    yield Figure(PREDICTED, (simulated,), labels)
    goal = None if fitted else Goal(MOST, at_most=True) if ratio >= 1 else Goal(LEAST, at_most=False)
    yield Figure(RATIO, (ratio,), labels, goal, note="; ".join(filter(None, (rates, run.note))))
    yield Figure(MAX_RATIO, (prediction.max_ratio,), labels)


def _make_own_figures(point: CurvePoint) -> Iterator[Figure]:
    measured, ratio = point.measured, point.ratio
    labels = {
        "workers": f"{measured.workers} worker{'s' * (measured.workers > 1)}",
        "tservers": f"{measured.tablet_servers} tablet server{'s' * (measured.tablet_servers > 1)}",
        "kind": "calibration" if point.calibrates else "prediction",
    }
    yield Figure(MEASURED_HERE, (measured.events_per_second,), labels)
    yield Figure(PREDICTED_HERE, (point.events_per_second,), labels)
    goal = Goal(OWN_MOST, at_most=True) if ratio >= 1 else Goal(OWN_LEAST, at_most=False)
    yield Figure(RATIO_HERE, (ratio,), labels, None if point.calibrates else goal)


EXPERIMENT = Experiment(
    name="model",
    summary="a simulation that predicts published ingest rates of up to 1,000 nodes, and our own by workers; no stack",
    metrics=(PUBLISHED, PREDICTED, RATIO, MAX_RATIO, MEASURED_HERE, PREDICTED_HERE, RATIO_HERE),
    quick_options=("--tables", "6-1,6-2,7-1,7-2,7-3"),
    quick_seconds=20,
    add_options=add_options,
    compute=compute,
    draw=draw,
    input_files=(
        InputFile("measured", "the JSON of a run of bench ingest, to predict its curve in place of ours", read_profile),
    ),
)
