"""The figures of ``bench blocks``, made from its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from watchfloor.loadgen.engines.peers.peer_process import PeerLoad
from watchfloor.loadgen.engines.question import (
    MANY_ROWS,
    EngineQuestion,
    QuestionKind,
    list_questions,
    list_scan_questions,
)
from watchfloor.loadgen.engines.rounds import AnswerKey, AnswerProfile, AnswerSamples
from watchfloor.loadgen.experiments.peers.figures import (
    SAME,
    compare_answers,
    compare_engines,
    make_ratio,
    to_milliseconds,
)
from watchfloor.loadgen.harness.cpu_usage import MACHINE
from watchfloor.loadgen.harness.loads import EventFile, LoadCase, LoadTiming, LogFile, make_case_labels
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, GoalSize, Metric
from watchfloor.store.bulk.tablet_files import TableFiles

LOAD = Metric(
    "load_events_per_second",
    "events/s",
    "events / seconds: from the first work item taken by a worker to the last one durable, with index and counts; of "
    "the others: until the events are in the table for good",
    title="speed of a load",
)
LOAD_BYTES = Metric(
    "load_megabytes_per_second", "MB/s", "bytes of the file / 1,000,000 / the same seconds", title="speed of a load"
)
CPU = Metric(
    "cpu_seconds_per_million_events",
    "s",
    "CPU seconds, user and system, of a process and a kind of its threads in that time / millions of events",
    title="processor time for a million events",
)
BUSY = Metric(
    "busy_cores", "cores", "CPU seconds of all that ran on the machine in that time / its seconds", title="busy cores"
)
ENTRIES = Metric(
    "entries_per_event",
    "",
    "entries in the files of a table, compacted to one a tablet / events",
    better="lower",
    exact=True,
    title="entries for each event",
)
DISK = Metric(
    "disk_share",
    "%",
    "bytes of the files of a table, compacted to one a tablet, or of the other engine's data / bytes of the file",
    better="lower",
    exact=True,
    title="size on the disk, share of the file",
)
FIRST = Metric(
    "first_rows_ms",
    "ms",
    "from the call of the query service to its first rows in the caller's hands, planning included; no limit",
    title="time to the first rows",
)
GROWTH = Metric(
    "first_rows_growth",
    "",
    "median first_rows_ms with all events / median with a tenth of them; samples: turn by turn",
    better="lower",
    title="time to the first rows with ten times the events / with a tenth, ratio",
)
ANSWER = Metric(
    "answer_ms",
    "ms",
    "from the question to all of its rows, as Arrow, in the caller's hands",
    title="time of a whole answer",
)
PROFILE = Metric(
    "profile_ms",
    "ms",
    "of an answer, the question asked again and again after the rounds: by the clock, and CPU time, user and system, "
    "of the process that asks, of the tablet servers, or of the other engine's",
    statistic="mean",
    title="time of an answer by where it is spent",
)
SCAN = Metric(
    "scan_events_per_second",
    "events/s",
    "events of the table, not those found / seconds of a whole answer",
    title="speed of a scan",
)
LAYOUTS = Metric(
    "block_to_cell",
    "",
    "the block layout's median / the cell layout's, of what is named, both with as many events: a tenth of all if "
    "nothing else is said; samples: turn by turn",
    title="block layout / cell layout, ratio",
)
BULK = Metric(
    "bulk_to_live",
    "",
    "median load_events_per_second of one worker that writes in bulk / of one that writes live; samples: turn by turn",
    better="higher",
    title="bulk load / live load, ratio of speeds",
)
PEER = Metric(
    "peer_to_block",
    "",
    "median seconds, or bytes, of the other engine / those of the block layout with one worker: below 1 the other is "
    "ahead; samples: turn by turn",
    better="higher",
    title="other engine / block layout, ratio of times or sizes",
)
METRICS = (LOAD, LOAD_BYTES, BUSY, CPU, ENTRIES, DISK, FIRST, GROWTH, ANSWER, SCAN, PROFILE, LAYOUTS, BULK, PEER, SAME)

GOALS_FROM = 10_000_000
"""The number of events from which on the goals apply."""
_LIVE = LoadCase("block", file="whole", workers=1)
_SCAN_GOALS = {"scan, one hit": 40e6, "scan, spread hits": 12e6, "scan, pattern": 8e6}
_ANSWER_GOALS = {f"newest {MANY_ROWS}, middling": 150.0, "all, rare": 25.0, "everything, dense": 3000.0}


@dataclass(frozen=True)
class BlockResults:
    """All results of the experiment.

    ``files`` are by the name in their load case; ``firsts`` holds the seconds to the first rows by the number of events
    and the value. ``left_out`` names the other engines that were not measured, with the reasons.
    """

    whole: EventFile
    tenth: EventFile
    files: Mapping[str, LogFile]
    loads: Mapping[LoadCase, Sequence[LoadTiming]]
    peer_loads: Mapping[str, Sequence[PeerLoad]]
    disk: Mapping[LoadCase, Mapping[str, TableFiles]]
    answers: Mapping[AnswerKey, AnswerSamples]
    firsts: Mapping[tuple[int, str], Sequence[float]]
    profiles: Mapping[AnswerKey, AnswerProfile]
    left_out: Sequence[str]

    def find_file(self, case: LoadCase) -> LogFile:
        return self.files[case.file]


def make_figures(results: BlockResults) -> Iterator[Figure]:
    for part in (
        _make_load_figures,
        _make_disk_figures,
        _make_first_row_figures,
        _make_answer_figures,
        _make_profile_figures,
        _compare_layouts,
        _compare_peers,
        _compare_answers,
    ):
        yield from part(results)


def _make_load_figures(results: BlockResults) -> Iterator[Figure]:
    for case, loads in results.loads.items():
        labels = make_case_labels(case, results.find_file(case))
        goal = _make_goal(results, 80, at_most=False) if case == _LIVE else None
        yield Figure(LOAD, tuple(each.events / each.seconds for each in loads), labels)
        yield Figure(LOAD_BYTES, tuple(each.bytes / 1e6 / each.seconds for each in loads), labels, goal)
        if case.mode == "bulk":
            live = [each.seconds for each in results.loads[_LIVE]]
            yield make_ratio(BULK, live, [each.seconds for each in loads], {}, _make_goal(results, 1.3, at_most=False))
    for name, peer_loads in results.peer_loads.items():
        labels = {"engine": name, "events": f"{results.whole.events:,}"}
        yield Figure(LOAD, tuple(each.rows / each.seconds for each in peer_loads), labels)
        yield Figure(LOAD_BYTES, tuple(results.whole.bytes / 1e6 / each.seconds for each in peer_loads), labels)
    for case, loads in results.loads.items():
        if case.file != "whole":
            continue
        yield Figure(
            BUSY, tuple(e.cpu[MACHINE] / e.seconds for e in loads), make_case_labels(case, results.find_file(case))
        )
        for process, kind in sorted({part for each in loads for part in each.cpu} - {MACHINE}):
            labels = {**make_case_labels(case, results.find_file(case)), "process": process, "threads": kind}
            yield Figure(CPU, tuple(e.cpu.get((process, kind), 0.0) / e.events * 1e6 for e in loads), labels)


def _make_disk_figures(results: BlockResults) -> Iterator[Figure]:
    for case, tables in results.disk.items():
        file = results.find_file(case)
        labels = {name: word for name, word in make_case_labels(case, file).items() if name not in ("workers", "mode")}
        goal = _make_goal(results, 15, at_most=True) if case == _LIVE else None
        both = {**tables, "all": _sum_tables(tables)}
        for name, files in both.items():
            yield Figure(ENTRIES, (files.entries / file.events,), {**labels, "table": name})
        for name, files in both.items():
            share = (files.bytes / file.bytes * 100,)
            yield Figure(DISK, share, {**labels, "table": name}, goal if name == "all" else None)
    for name, loads in results.peer_loads.items():
        labels = {"engine": name, "events": f"{results.whole.events:,}", "table": "all"}
        yield Figure(DISK, (loads[-1].bytes / results.whole.bytes * 100,), labels)


def _make_first_row_figures(results: BlockResults) -> Iterator[Figure]:
    for (events, value), seconds in results.firsts.items():
        goal = _make_goal(results, 20, at_most=True) if events == results.whole.events else None
        yield Figure(FIRST, to_milliseconds(seconds), {"events": f"{events:,}", "value": value}, goal)
    for (events, value), seconds in results.firsts.items():
        if events == results.whole.events:
            few = results.firsts[results.tenth.events, value]
            yield make_ratio(GROWTH, seconds, few, {"value": value}, _make_goal(results, 1.3, at_most=True))


def _make_answer_figures(results: BlockResults) -> Iterator[Figure]:
    for (engine, events, name), timings in results.answers.items():
        labels = {"engine": engine, "events": f"{events:,}", "question": name, "rows": f"{timings.rows:,} rows"}
        ours = engine == "block" and events == results.whole.events
        if name in _SCAN_GOALS:
            goal = _make_goal(results, _SCAN_GOALS[name], at_most=False) if ours else None
            yield Figure(SCAN, tuple(events / each for each in timings.seconds), labels, goal)
        else:
            limit = _ANSWER_GOALS.get(name) if ours else None
            yield Figure(
                ANSWER,
                to_milliseconds(timings.seconds),
                labels,
                _make_goal(results, limit, at_most=True) if limit else None,
            )


def _make_profile_figures(results: BlockResults) -> Iterator[Figure]:
    for (engine, events, name), profile in results.profiles.items():
        for part, seconds in {"clock": profile.seconds, **profile.cpu_seconds}.items():
            labels = {"engine": engine, "events": f"{events:,}", "question": name, "time of": part}
            yield Figure(PROFILE, to_milliseconds([seconds]), labels)


def _compare_layouts(results: BlockResults) -> Iterator[Figure]:
    """Compares the cell layout with the block layout."""
    for case in results.loads:
        if case.layout == "cell":
            cells, blocks = ([e.seconds for e in results.loads[c]] for c in (case, replace(case, layout="block")))
            blocks = blocks[-len(cells) :]  # a case that is not loaded in every turn is loaded in the last
            labels = {"of": LOAD.title, **make_case_labels(case, results.find_file(case))}
            del labels["engine"]
            goal = _make_goal(results, 8, at_most=False) if case.file == "whole" else None
            yield make_ratio(LAYOUTS, cells, blocks, labels, goal)
    names = ("block", "cell")
    block, cell = (_sum_tables(results.disk[LoadCase(name, file="tenth", workers=1)]) for name in names)
    yield make_ratio(LAYOUTS, [block.entries], [cell.entries], {"of": ENTRIES.title})
    yield make_ratio(LAYOUTS, [block.bytes], [cell.bytes], {"of": DISK.title})
    for question in list_scan_questions():
        seconds = {name: results.answers[name, results.tenth.events, question.name].seconds for name in names}
        labels = {"of": SCAN.title, "question": question.name}
        yield make_ratio(LAYOUTS, seconds["cell"], seconds["block"], labels)


def _compare_peers(results: BlockResults) -> Iterator[Figure]:
    """Compares the other engines with the block layout."""
    events, ours = results.whole.events, "block"
    for name, loads in results.peer_loads.items():
        our_loads = [each.seconds for each in results.loads[_LIVE]]
        yield compare_engines(PEER, (name, [each.seconds for each in loads]), (ours, our_loads), "load")
        yield compare_engines(PEER, (name, [loads[-1].bytes]), (ours, [_sum_tables(results.disk[_LIVE]).bytes]), "disk")
        for question in list_questions(results.whole.generated):
            theirs, our_answers = (results.answers[each, events, question.name].seconds for each in (name, ours))
            goal = _make_goal(results, 1, at_most=False) if name == "chdb" and _asks_newest(question) else None
            yield compare_engines(PEER, (name, theirs), (ours, our_answers), question.name, goal)


def _compare_answers(results: BlockResults) -> Iterator[Figure]:
    yield compare_answers(results.answers, results.whole.events, results.left_out)
    yield compare_answers(results.answers, results.tenth.events, [])


def _asks_newest(question: EngineQuestion) -> bool:
    return question.kind is QuestionKind.NEWEST


def _make_goal(results: BlockResults, limit: float, at_most: bool) -> Goal:
    return Goal(limit, at_most, GoalSize(results.whole.events, GOALS_FROM, "events"))


def _sum_tables(tables: Mapping[str, TableFiles]) -> TableFiles:
    return TableFiles(sum(t.bytes for t in tables.values()), sum(t.entries for t in tables.values()))
