"""The figures of a run: faults with their recoveries, what was loaded and asked, and the differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric

from .faults.fault_runner import FaultRecord

RECOVERY = Metric(
    "recovery_seconds",
    "s",
    "from the beginning of a fault until its process runs and answers again, and after that a work item has become "
    "durable and a question has been asked and completely answered; a pause and the time until a restart count",
    title="time to recover from a fault",
)
LONGEST = Metric(
    "longest_recovery_seconds", "s", "the same of all faults", "max", title="longest time to recover from a fault"
)
FAULTS = Metric(
    "faults",
    "",
    "faults that were injected, and those nobody saw recovered before the run ended",
    "max",
    title="faults",
)
EVENTS = Metric(
    "chaos_events",
    "events",
    "events of the files, each of which the store must have once",
    "max",
    title="events of the files",
)
ITEMS = Metric(
    "chaos_items", "items", "work items by the way in which the worker wrote that ended them", "max", title="work items"
)
ANSWERS = Metric(
    "answers", "", "questions by what came of them, and answers compared at the end", "max", title="answers"
)
ANSWER_SECONDS = Metric(
    "longest_answer_seconds", "s", "from a question to the end of its answer", "max", title="longest time of an answer"
)
DIFFERENCES = Metric(
    "differences",
    "",
    "answers, records and messages that are not right",
    "max",
    "lower",
    exact=True,
    title="differences found",
)
METRICS = (RECOVERY, LONGEST, FAULTS, EVENTS, ITEMS, ANSWERS, ANSWER_SECONDS, DIFFERENCES)


def make_fault_figures(records: Sequence[FaultRecord], skipped: int, recovery: Metric = RECOVERY) -> list[Figure]:
    """Returns the recoveries by kind of fault and process, as samples of ``recovery``, and the numbers of faults."""
    samples: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in records:
        if record.recovery_seconds is not None:
            samples[record.fault.action, record.fault.process].append(round(record.recovery_seconds, 2))
    figures = [
        Figure(recovery, tuple(seconds), {"fault": action, "process": process})
        for (action, process), seconds in sorted(samples.items())
    ]
    every = tuple(seconds for each in samples.values() for seconds in each)
    if every:
        figures.append(Figure(recovery, every, {"fault": "all faults"}))
        figures.append(Figure(LONGEST, every, {"fault": "all faults"}))
    counts = Counter(record.fault.action for record in records)
    figures += [Figure(FAULTS, (float(count),), {"fault": action}) for action, count in sorted(counts.items())]
    open_faults = sum(record.recovered is None for record in records)
    note = f"{skipped} more hit a process that did not run" if skipped else ""
    return [
        *figures,
        Figure(FAULTS, (float(len(records)),), {"fault": "all faults"}, note=note),
        Figure(FAULTS, (float(open_faults),), {"fault": "not seen recovered"}),
    ]


def make_load_figures(events: Mapping[str, int], items: Mapping[tuple[str, str], int]) -> list[Figure]:
    """Returns the numbers of events by layout, and of items by layout and mode."""
    figures = [Figure(EVENTS, (float(count),), {"layout": layout}) for layout, count in events.items()]
    return figures + [
        Figure(ITEMS, (float(count),), {"layout": layout, "mode": mode})
        for (layout, mode), count in sorted(items.items())
    ]


def make_answer_figures(outcomes: Mapping[str, int], seconds: Sequence[float], compared: int) -> list[Figure]:
    figures = [Figure(ANSWERS, (float(n),), {"outcome": outcome}) for outcome, n in sorted(outcomes.items())]
    figures.append(Figure(ANSWERS, (float(compared),), {"outcome": "compared at the end"}))
    return [*figures, *([Figure(ANSWER_SECONDS, tuple(seconds))] if seconds else [])]


def make_difference_figure(differences: int, folder: str) -> Figure:
    note = f"evidence is in {folder}" if differences else ""
    return Figure(DIFFERENCES, (float(differences),), goal=Goal(0, at_most=True), note=note)
