"""Participants warm up and answer in rounds; answers are digested, checked and profiled.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from engine_events import PROXY

from watchfloor.loadgen.engines.answer import EngineAnswer, build_table, check_answer, digest_rows
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.loadgen.engines.rounds import WARM_UP_SECONDS, AnswerSamples, Participant, profile_answers, run_rounds
from watchfloor.loadgen.experiments.peers.figures import compare_answers
from watchfloor.loadgen.harness.cpu_usage import MACHINE, CpuMeter
from watchfloor.schema.errors import InternalError
from watchfloor.schema.settings.settings import Settings


def test_a_digest_knows_rows_by_their_values_not_by_order_or_arrow_type() -> None:
    for rows in (500, 20_000):
        names = [f"name-{i % 77}" if i % 5 else None for i in range(rows)]
        table = pa.table({"n": range(rows), "name": names, "ok": [i % 3 == 0 for i in range(rows)]})
        other = table.take(pa.array(range(rows - 1, -1, -1)))
        coded = other.column("name").combine_chunks().dictionary_encode()
        other = other.set_column(1, "name", coded)
        other = other.set_column(0, "n", other.column("n").cast(pa.uint16()))
        columns = ["n", "name", "ok"]
        assert digest_rows(other, columns) == digest_rows(table, columns)
        for changed in (
            table.slice(1),
            table.set_column(1, "name", pa.array([*names[:-1], "name-x"])),
            table.set_column(2, "ok", pa.array([False] * rows)),
        ):
            assert digest_rows(changed, columns) != digest_rows(table, columns)


def test_parties_warm_up_and_slow_ones_answer_in_few_rounds() -> None:
    """Answers count after each question has been asked for a while; answers are checked in between."""
    asked: Counter[str] = Counter()
    before: Counter[str] = Counter()
    began: dict[str, float] = {}
    warm: dict[str, float] = {}

    def engine(name: str) -> Participant:
        def ask(question: EngineQuestion, check: bool) -> EngineAnswer:
            began.setdefault(name, time.perf_counter())
            if check:
                before[name], asked[name] = asked[name], 0
                warm[name] = time.perf_counter() - began[name]
            asked[name] += 1
            return EngineAnswer(float(asked[name]), 7, name if check else "")

        return Participant(
            name, 100, ask, [EngineQuestion("q", QuestionKind.COUNT, "f", "v")], 2 if name == "slow" else 5
        )

    found = run_rounds([engine("slow"), engine("quick")], 5)
    assert asked == {"slow": 3, "quick": 6}
    assert before["slow"] == 0 and before["quick"] > 1 and warm["quick"] >= 5 * WARM_UP_SECONDS
    assert found["slow", 100, "q"].seconds == [2.0, 3.0]
    assert found["quick", 100, "q"].seconds == [2.0, 3.0, 4.0, 5.0, 6.0]
    assert (found["quick", 100, "q"].rows, found["quick", 100, "q"].digest) == (7, "quick")


def test_shuffled_questions_come_in_another_order_each_round_and_keep_the_times_of_their_first_rows() -> None:
    asked: list[str] = []

    def ask(question: EngineQuestion, check: bool) -> EngineAnswer:
        asked.append(question.name)
        return EngineAnswer(2.0, 1, first_seconds=1.0)

    questions = [EngineQuestion(name, QuestionKind.COUNT) for name in "abcd"]
    found = run_rounds([Participant("ours", 1, ask, questions, 5, shuffled=True)], 5, warm_up_rounds=0)
    assert found["ours", 1, "a"] == AnswerSamples([2.0] * 5, [1.0] * 5, 1)
    # The warm-up asks each once, and so does the round whose answers are checked.
    rounds = [tuple(asked[first : first + 4]) for first in range(0, len(asked), 4)]
    assert len(rounds) == 7 and all(sorted(one) == list("abcd") for one in rounds) and len(set(rounds[1:])) > 1


def test_a_profile_has_each_processs_own_processor_time_an_answer() -> None:
    asked: Counter[str] = Counter()

    def ask(question: EngineQuestion, check: bool) -> EngineAnswer:
        asked[question.name] += 1
        until = time.process_time() + (0.1 if question.name == "busy" else 0)
        while time.process_time() < until:
            pass
        return EngineAnswer(float(asked[question.name]), 1)

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as sleeping:
        processes = {"client": [os.getpid()], "sleeping": [sleeping.pid], "elsewhere": []}
        party = Participant(
            "ours",
            1,
            ask,
            [EngineQuestion(name, QuestionKind.COUNT, "f", "v") for name in ("busy", "idle")],
            1,
            processes,
        )
        found = profile_answers(party, 0.5)
        once = profile_answers(party, 0)
        sleeping.communicate(b"\n")
    assert asked["busy"] >= 2
    assert found["busy"].seconds == sum(range(1, asked["busy"])) / (asked["busy"] - 1)
    assert found["busy"].cpu_seconds["client"] >= 0.09 > 0.01 > found["idle"].cpu_seconds["client"]
    assert found["busy"].cpu_seconds["sleeping"] < 0.05
    assert once["busy"].seconds == asked["busy"]
    assert once["busy"].cpu_seconds.keys() == {"client", "sleeping"}


def test_rows_that_should_come_newest_first_and_do_not_are_an_error_that_names_engine_and_question() -> None:
    def ask_for(kind: QuestionKind, *days: int) -> None:
        rows = build_table([{"ts": f"2026-01-0{day}T00:00:00Z"} for day in days], PROXY)

        def ask(question: EngineQuestion, check: bool) -> EngineAnswer:
            return check_answer(0.1, rows, PROXY, question) if check else EngineAnswer(0.1, len(rows))

        run_rounds([Participant("sloppy", 3, ask, [EngineQuestion("q", kind, "domain", "v")], 1)], 1)

    ask_for(QuestionKind.NEWEST)
    ask_for(QuestionKind.NEWEST, 3, 2, 2, 1)
    ask_for(QuestionKind.EVERYTHING, 1, 3, 2)
    for days in ((1, 2), (3, 1, 2)):
        with pytest.raises(InternalError, match="sloppy did not give the rows of 'q' newest first"):
            ask_for(QuestionKind.NEWEST, *days)


def test_the_figure_of_same_answers_says_what_was_left_out() -> None:
    alone = {("watchfloor", 100, "q"): AnswerSamples([0.1], 1, "x")}
    both = alone | {("duckdb", 100, "q"): AnswerSamples([0.1], 1, "x")}
    assert compare_answers(both, 100, []).note == ""
    assert compare_answers(both, 100, ["chdb: why"]).note == "left out: chdb: why"
    note = compare_answers(alone, 100, ["duckdb: why", "chdb did not start: why"]).note
    assert note == "nothing was compared; left out: duckdb: why; left out: chdb did not start: why"
    differ = both | {("duckdb", 100, "q"): AnswerSamples([0.1], 1, "y")}
    assert compare_answers(differ, 100, ["chdb: why"]).note == "q; left out: chdb: why"


def used() -> float:
    """The machine's own count. A process's may be ahead of it, where the host gives its processors to others."""
    busy = psutil.cpu_times()
    return float(busy.user + busy.nice + busy.system)


def test_the_meter_counts_what_the_machine_spends(tmp_path: Path) -> None:
    with CpuMeter(Settings(home=tmp_path)) as meter:
        since, before = time.time(), used()
        while used() - before < 3:
            pass
        until, spent = time.time(), used() - before
    # Between two samples the meter takes the pace for even, which that of other processes is not.
    assert meter.measure_between(since, until)[MACHINE] == pytest.approx(spent, rel=0.25)
    assert meter.measure_between(until, until)[MACHINE] == 0
