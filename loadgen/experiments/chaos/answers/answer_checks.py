"""Compares answers with what was written to files. What does not agree is recorded with evidence."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from watchfloor.loadgen.experiments.chaos.written.event_files import EventMaker
from watchfloor.loadgen.experiments.chaos.written.truth import Condition, SourceTruth
from watchfloor.schema.times import format_micros

from .rest_client import Answer

_MOST_EXAMPLES = 20


@dataclass(frozen=True)
class Difference:
    """An answer that does not agree with the files. ``evidence`` is JSON."""

    at: float
    check: str
    source: str
    detail: str
    evidence: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Differences:
    """All differences so far. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[Difference] = []

    def add(self, check: str, source: str, detail: str, **evidence: Any) -> None:
        with self._lock:
            self._found.append(Difference(time.time(), check, source, detail, evidence))

    @property
    def found(self) -> tuple[Difference, ...]:
        with self._lock:
            return tuple(self._found)


class AnswerChecker:
    """Checks the answers about one source.

    ``done`` are the numbers of the files that were done before a question was asked: their events must be in a complete
    answer. Events of other files may be.
    """

    def __init__(self, maker: EventMaker, truth: SourceTruth, differences: Differences) -> None:
        self._maker, self.truth, self._differences = maker, truth, differences

    def check_rows(self, answer: Answer, condition: Condition, done: set[int], question: Mapping[str, Any]) -> None:
        """Checks that rows are events of the files, each once, newest first, and that none is missing if complete."""
        found: Counter[int] = Counter()
        seen: set[str] = set()
        problems: defaultdict[str, list[Any]] = defaultdict(list)
        last = ""
        for row in answer.rows:
            identity = str(row.get(self._maker.id_field))
            event = self._maker.find_event(identity)
            if row != event:
                problems["rows that are no event of any file"].append({"row": row, "expected": event})
                continue
            if identity in seen:
                problems["events found twice"].append(identity)
            if last and row["ts"] > last:
                problems["events newer than the one before"].append(
                    {"event": identity, "ts": row["ts"], "before": last}
                )
            if not _fits(row, condition):
                problems["events that do not fit the condition"].append(row)
            last = row["ts"]
            seen.add(identity)
            found[int(identity.split("-")[1])] += 1
        if answer.outcome == "ok" and answer.status in ("complete", "limit"):
            missing = self._find_missing(answer, condition, done, found, last)
            if missing:
                problems["events that are missing, by file"] = [missing]
        for detail, examples in problems.items():
            self._report("rows", f"{len(examples):,} {detail}", answer, question, examples=examples[:_MOST_EXAMPLES])

    def check_numbers(
        self,
        answer: Answer,
        question: Mapping[str, Any],
        numbers: Mapping[Any, int],
        least: Mapping[Any, int],
        most: Mapping[Any, int],
    ) -> None:
        """Checks that each number lies between that of the files done before and that of all files written since."""
        wrong = {
            str(key): {"answer": numbers.get(key, 0), "least": least.get(key, 0), "most": most.get(key, 0)}
            for key in {*numbers, *least}
            if not least.get(key, 0) <= numbers.get(key, 0) <= most.get(key, 0)
        }
        if wrong:
            self._report("numbers", f"{len(wrong):,} wrong numbers", answer, question, wrong=wrong)

    def check_clean(self, answer: Answer, question: Mapping[str, Any]) -> None:
        """Checks that an answer that is none says so in the way that is promised."""
        if answer.outcome in ("wrong", "unanswered"):
            self._report(answer.outcome, answer.problem, answer, question)

    def _find_missing(
        self, answer: Answer, condition: Condition, done: set[int], found: Counter[int], last: str
    ) -> dict[str, Any]:
        """Returns the done files of which events are missing. A limited answer lacks those older than its last row."""
        if answer.status == "limit":
            since = max(parse_micros(last) + 1, condition.since or 0)
            condition = Condition(since, condition.until, condition.host, condition.user)
            newer = [row for row in answer.rows if parse_micros(row["ts"]) >= since]
            found = Counter(int(str(row.get(self._maker.id_field)).split("-")[1]) for row in newer)
        expected = self.truth.count_by_file(condition, done)
        paths = self.truth.files
        return {
            str(paths[number].path): {"expected": count, "found": found[number]}
            for number, count in expected.items()
            if found[number] < count
        }

    def _report(self, check: str, detail: str, answer: Answer, question: Mapping[str, Any], **evidence: Any) -> None:
        about = {"began": answer.began, "seconds": answer.seconds, "outcome": answer.outcome, "summary": answer.body}
        self._differences.add(check, self._maker.source_name, detail, question=dict(question), answer=about, **evidence)


def parse_micros(text: str) -> int:
    """Returns the µs since 1970 of a time as answers have it."""
    return int(np.datetime64(text.removesuffix("Z"), "us").astype(np.int64))


def _fits(row: Mapping[str, Any], condition: Condition) -> bool:
    if condition.host is not None and row["host"] != f"host{condition.host}":
        return False
    if condition.user is not None and row.get("user") != f"user{condition.user}":
        return False
    since = "" if condition.since is None else format_micros(condition.since)
    return since <= row["ts"] and (condition.until is None or row["ts"] < format_micros(condition.until))
