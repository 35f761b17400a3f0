"""``watchfloor compare A B``: compares two runs: their surroundings, the ratio of each figure, and what got worse.

A, B ─▶ differences in machine, versions, options ─▶ figures in both ─▶ ratios with intervals ─▶ verdicts
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from watchfloor.api.formats.visible import escape_line_controls
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.table import align_columns, format_number
from watchfloor.loadgen.report.run_folder import SuiteRun, read_run
from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import show_path

from .verdicts import (
    INTERVAL_LEVEL,
    RISK,
    THRESHOLD,
    FigureComparison,
    FigureKey,
    Verdict,
    compare_figure,
    judge_figures,
)

_IGNORED_VALUES = ("available_bytes", "home", "jars", "topic", "group")
"""Names of values that differ from run to run without any meaning."""
_LOAD_APART = 1.0
"""The least difference in load averages that is reported."""
_VERDICT_ORDER: tuple[Verdict, ...] = ("worse", "better", "changed", "same", "too few samples", "no ratio")


def compare_runs(a: Path, b: Path, seed: int) -> int:
    """Prints the comparison of two run folders, or of two JSON files of one experiment, and returns the exit status.

    The status is 1 if a figure is worse, or if an experiment of A was also requested of B and is missing there; else 0.
    Raises ``InputFileError`` for a path that is no run, and ``UserError`` if the two have no experiment in common.
    """
    before, after = read_run(a), read_run(b)
    pairs = _pair_experiments(before, after)
    lost = _list_lost(before, after)
    print(escape_line_controls("\n".join(_describe_differences(before, after, pairs))))
    comparisons = list(_compare_figures(pairs, seed))
    verdicts = judge_figures(comparisons)
    print(escape_line_controls(f"\n{_format_table(comparisons, verdicts)}\n"))
    print(escape_line_controls("\n".join(_summarize(pairs, comparisons, verdicts, lost))), flush=True)
    return 1 if lost or "worse" in verdicts.values() else 0


def _pair_experiments(before: SuiteRun, after: SuiteRun) -> list[tuple[Measurement, Measurement]]:
    """Returns the experiments that both runs have. Raises ``UserError`` if there is nothing to report."""
    later = {each.experiment: each for each in after.measurements}
    pairs = [(each, later[each.experiment]) for each in before.measurements if each.experiment in later]
    if not pairs and not _list_lost(before, after):
        names = [", ".join(each.experiment for each in run.measurements) or "none" for run in (before, after)]
        raise UserError(
            f"no experiment is in both: {show_path(before.path)} has {names[0]}, "
            f"and {show_path(after.path)} has {names[1]}"
        )
    return pairs


def _list_lost(before: SuiteRun, after: SuiteRun) -> list[str]:
    """Returns the experiments of one run that were requested of the other too, and that are missing there."""
    return [measurement.experiment for measurement in before.measurements if measurement.experiment in after.missing]


def _compare_figures(pairs: Sequence[tuple[Measurement, Measurement]], seed: int) -> Iterator[FigureComparison]:
    for before, after in pairs:
        later = _index_figures(after)
        for key, figure in _index_figures(before).items():
            if key in later:
                yield compare_figure(key, figure, later[key], seed)


def _index_figures(measurement: Measurement) -> dict[FigureKey, Figure]:
    return {(measurement.experiment, f.metric.name, tuple(f.labels.items())): f for f in measurement.figures}


def _describe_differences(
    before: SuiteRun, after: SuiteRun, pairs: Sequence[tuple[Measurement, Measurement]]
) -> Iterator[str]:
    """Yields the two runs, the experiments that only one has, and the differences of their surroundings."""
    yield f"A: {_describe_run(before)}\nB: {_describe_run(after)}"
    for run, other in ((before, after), (after, before)):
        if only := {m.experiment for m in run.measurements} - {m.experiment for m in other.measurements}:
            names = [_describe_absent(name, other) for name in sorted(only)]
            yield f"only in {'A' if run is before else 'B'}: {', '.join(names)}"
    lines: dict[str, list[str]] = {}
    for one, two in pairs:
        for part in ("machine", "versions", "options", "settings"):
            for line in _compare_values(getattr(one, part), getattr(two, part)):
                lines.setdefault(f"{part}: {line}", []).append(one.experiment)
    for line, names in lines.items():
        yield line if len(names) == len(pairs) else f"{line} ({', '.join(names)})"
    if pairs and not lines:
        yield "machine, versions, options and settings are the same"


def _describe_absent(name: str, run: SuiteRun) -> str:
    """Returns the name of an experiment that a run lacks, with the reason if it was requested of that run."""
    if name not in run.missing:
        return name
    return f"{name} (not measured: {run.missing[name]})" if run.missing[name] else f"{name} (not measured)"


def _compare_values(one: Mapping[str, Any], two: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*one, *two)):
        a, b = one.get(name), two.get(name)
        if a == b or name in _IGNORED_VALUES or (name == "load_average" and abs((a or 0) - (b or 0)) < _LOAD_APART):
            continue
        if name == "loop_ms" and a and b and 1 / THRESHOLD <= b / a <= THRESHOLD:
            continue
        yield f"{name} {'–' if a is None else a} → {'–' if b is None else b}"


def _describe_run(run: SuiteRun) -> str:
    if not run.measurements:
        return f"{show_path(run.path)}, in which nothing was measured"
    begun = min(measurement.started for measurement in run.measurements)
    return f"{show_path(run.path)}, begun {begun:%Y-%m-%d %H:%M:%S} UTC"


def _format_table(comparisons: Sequence[FigureComparison], verdicts: Mapping[FigureKey, Verdict]) -> str:
    rows = [("experiment", "metric", "of", "A", "B", "unit", "B/A", f"{INTERVAL_LEVEL:.0%} interval", "")]
    for each in comparisons:
        ratio = "–" if each.ratio is None else f"{each.ratio:.2f}"
        interval = (
            "–" if each.ratios is None else "{:.2f} to {:.2f}".format(*each.ratios.compute_interval(INTERVAL_LEVEL))
        )
        experiment, metric, of = each.key
        values = (format_number(each.before.value), format_number(each.after.value), each.after.metric.unit)
        labels = " ".join(value for _, value in of)
        rows.append((experiment, metric, labels, *values, ratio, interval, verdicts[each.key]))
    return align_columns(rows, right={3, 4, 6, 7})


def _summarize(
    pairs: Sequence[tuple[Measurement, Measurement]],
    comparisons: Sequence[FigureComparison],
    verdicts: Mapping[FigureKey, Verdict],
    lost: Sequence[str],
) -> Iterator[str]:
    """Yields the counts of verdicts by experiment, an explanation of the verdicts, and what is worse."""
    for one, two in pairs:
        mine = [verdicts[each.key] for each in comparisons if each.key[0] == one.experiment]
        counts = Counter(mine)
        words = [f"{counts[word]} {word}" for word in _VERDICT_ORDER if counts[word]]
        alone = [
            f"{len(m.figures) - len(mine)} only in {w}"
            for m, w in ((one, "A"), (two, "B"))
            if len(m.figures) > len(mine)
        ]
        yield f"{one.experiment}: {', '.join((*words, *alone)) or 'no figure is in both'}"
    yield (
        f"Worse or better is what changed by more than {THRESHOLD - 1:.0%}, and by more than the noise of its samples "
        f"explains with {len(comparisons)} figures compared: a chance of {RISK:.0%} that two equal runs differ "
        "anywhere. Whether answers are right may not change at all."
    )
    worse: dict[str, list[str]] = {}
    for each in comparisons:
        if verdicts[each.key] == "worse" and each.key[1] not in worse.setdefault(each.key[0], []):
            worse[each.key[0]].append(each.key[1])
    worse.update({name: ["not measured"] for name in lost})
    if worse:
        yield "WORSE: " + "; ".join(f"{experiment} ({', '.join(metrics)})" for experiment, metrics in worse.items())
    elif comparisons and all(each.is_equal for each in comparisons):
        yield "The two have the same samples: every ratio is 1.00. Nothing is worse."
    else:
        few = sum(verdict == "too few samples" for verdict in verdicts.values())
        yield "Nothing is worse." + (f" Of {few} figures there are too few samples to tell." if few else "")
