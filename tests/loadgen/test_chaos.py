"""The plan of `bench chaos` follows from its seed, and its checks find whatever is lost, doubled or wrong.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import chaos_fault
import pytest

from watchfloor.loadgen.experiments.chaos.answers.answer_checks import AnswerChecker, Differences, parse_micros
from watchfloor.loadgen.experiments.chaos.answers.rest_client import Answer, read_answer
from watchfloor.loadgen.experiments.chaos.faults.fault_plan import PROCESSES, make_plan
from watchfloor.loadgen.experiments.chaos.written.event_files import EventMaker
from watchfloor.loadgen.experiments.chaos.written.truth import Condition, SourceTruth

ALL = Condition()
MAKER = EventMaker(1, "cell")
LINES = 900


def test_a_plan_follows_from_its_seed_and_has_every_fault_of_every_process() -> None:
    plan = make_plan(7, 3600)
    assert plan == make_plan(7, 3600) != make_plan(8, 3600)
    assert [fault.at for fault in plan] == sorted(fault.at for fault in plan)
    single = {(fault.action, fault.processes[0]) for fault in plan if len(fault.processes) == 1}
    actions = ("kill", "short pause", "long pause", "restart")
    assert single == {(action, process) for action in actions for process in PROCESSES}


def test_no_process_is_hit_twice_at_once() -> None:
    free = dict.fromkeys(PROCESSES, 0.0)
    for fault in make_plan(7, 3600):
        assert all(free[process] <= fault.at for process in fault.processes)
        free.update(dict.fromkeys(fault.processes, fault.at + fault.seconds))


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> SourceTruth:
    folder, found = tmp_path_factory.mktemp("chaos"), SourceTruth()
    for number in range(3):
        found.add_file(MAKER.write_file(folder / f"cell-{number}.log", number, LINES))
    return found


def read_events(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Returns the events of files, newest first, as plain Python reads them."""
    events = []
    for path in files:
        for line in path.read_text().splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event["status"], int):
                events.append(event)
    return sorted(events, key=lambda event: event["ts"], reverse=True)


def answer(rows: Sequence[dict[str, Any]], status: str = "complete") -> Answer:
    return Answer("ok", 0.0, 0.0, {"status": status}, tuple(rows))


def check(truth: SourceTruth, given: Answer, done: set[int], condition: Condition = ALL) -> list[str]:
    """Returns the details of the differences that are found in an answer."""
    differences = Differences()
    AnswerChecker(MAKER, truth, differences).check_rows(given, condition, done, {})
    return [difference.detail for difference in differences.found]


def events_of(truth: SourceTruth, *numbers: int) -> list[dict[str, Any]]:
    return read_events([truth.files[number].path for number in numbers])


def test_what_is_known_of_files_is_what_plain_python_reads(truth: SourceTruth) -> None:
    for number, file in truth.files.items():
        events, lines = events_of(truth, number), file.path.read_bytes().splitlines()
        assert len(events) == len(file.times) and len(events) + len(file.bad) == len(lines) == LINES
        assert file.size == file.path.stat().st_size and file.bad and set(file.bad) <= set(lines)
        assert sorted(parse_micros(event["ts"]) for event in events) == sorted(file.times.tolist())
        assert all(MAKER.find_event(event["cell_id"]) == event for event in events)
    assert MAKER.find_event("cell-00000-x") is None is MAKER.find_event("block-00000-00000")


def test_a_right_answer_has_no_differences(truth: SourceTruth) -> None:
    assert check(truth, answer(events_of(truth, 0, 1, 2)), {0, 1, 2}) == []
    # A file that is not done may be there, in part too.
    assert check(truth, answer(events_of(truth, 0, 1)), {0}) == []
    assert check(truth, answer(events_of(truth, 0, 1)[:700], "limit"), {0, 1}) == []


def test_a_lost_event_is_found(truth: SourceTruth) -> None:
    rows = events_of(truth, 0, 1)
    (detail,) = check(truth, answer([*rows[:5], *rows[6:]]), {0, 1})
    assert "missing" in detail
    (detail,) = check(truth, answer([*rows[:5], *rows[6:50]], "limit"), {0, 1})
    assert "missing" in detail
    assert check(truth, answer([*rows[:5], *rows[6:]], "deadline"), {0, 1}) == []


def test_an_event_that_is_there_twice_is_found(truth: SourceTruth) -> None:
    rows = events_of(truth, 0)
    (detail,) = check(truth, answer([rows[0], *rows]), {0})
    assert "twice" in detail


def test_a_wrong_order_and_a_wrong_value_are_found(truth: SourceTruth) -> None:
    rows = events_of(truth, 0)
    assert "newer" in check(truth, answer([rows[1], rows[0], *rows[2:]]), {0})[0]
    changed = check(truth, answer([{**rows[0], "bytes": 1}, *rows[1:]]), {0})
    assert "no event" in changed[0] and "missing" in changed[1]


def test_an_event_that_was_not_asked_for_is_found(truth: SourceTruth) -> None:
    rows = events_of(truth, 0)
    host = int(rows[0]["host"][4:])
    fitting = [row for row in rows if row["host"] == f"host{host}"]
    assert check(truth, answer(fitting), {0}, Condition(host=host)) == []
    (detail,) = check(truth, answer(rows), {0}, Condition(host=host))
    assert "do not fit" in detail
    middle = parse_micros(rows[len(rows) // 2]["ts"])
    assert check(truth, answer(rows), {0}, Condition(until=middle))[0].endswith("do not fit the condition")


def test_numbers_lie_between_those_of_the_done_files_and_of_all(truth: SourceTruth) -> None:
    differences = Differences()
    checker = AnswerChecker(MAKER, truth, differences)
    least, most = truth.count_by_host(ALL, {0}), truth.count_by_host(ALL, {0, 1, 2})
    checker.check_numbers(answer([]), {}, least, least, most)
    checker.check_numbers(answer([]), {}, most, least, most)
    assert not differences.found
    checker.check_numbers(answer([]), {}, {**most, 0: most[0] + 1}, least, most)
    checker.check_numbers(answer([]), {}, {**least, 0: least[0] - 1}, least, most)
    checker.check_numbers(answer([]), {}, {}, least, most)
    checker.check_numbers(answer([]), {}, {**most, 10_000: 1}, least, most)
    assert [difference.detail for difference in differences.found] == [
        "1 wrong numbers",
        "1 wrong numbers",
        f"{len(least)} wrong numbers",
        "1 wrong numbers",
    ]


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (200, b'{"a":1}\n{"summary":{"status":"complete","rows":1}}\n', "ok"),
        (200, b'{"a":1}\n', "cut off"),
        (200, b'{"a":1}\n{"summary":{"sta', "cut off"),
        (200, b'{"summary":{"status":"failed","problem":{"status":503}}}\n', "ok"),
        (200, b'{"summary":{"status":"failed","problem":{"status":500}}}\n', "wrong"),
        (503, b'{"type":"tag:watchfloor,2026:unavailable","status":503}', "unavailable"),
        (503, b"Service Unavailable", "wrong"),
        (500, b'{"type":"tag:watchfloor,2026:internal","status":500}', "wrong"),
        (404, b'{"type":"tag:watchfloor,2026:unknown-source","status":404}', "wrong"),
        (200, b"Traceback (most recent call last):", "wrong"),
    ],
)
def test_an_answer_is_right_unavailable_cut_off_or_wrong(status: int, body: bytes, outcome: str) -> None:
    assert read_answer("/api/v1/query", status, body, "", 0.0).outcome == outcome


def test_rows_that_came_before_a_stream_was_cut_off_are_checked_too(truth: SourceTruth) -> None:
    rows = events_of(truth, 0)
    cut = replace(answer(rows[:10]), outcome="cut off", body={})
    assert check(truth, cut, {0}) == []
    assert "twice" in check(truth, replace(cut, rows=(*rows[:10], rows[9])), {0})[0]


def test_the_copy_with_a_fault_differs_by_the_flush_alone(tmp_path: Path) -> None:
    """`make chaos-fault` runs it; this fails when the worker no longer reads as the fault expects."""
    chaos_fault.make_faulty_copy(tmp_path)
    faulty, right = ((root / chaos_fault.READER).read_text() for root in (tmp_path / "watchfloor", chaos_fault.PROJECT))
    assert faulty.replace(chaos_fault.NO_FLUSH, chaos_fault.FLUSH) == right != faulty
    compile(faulty, chaos_fault.READER, "exec")
