"""The questions that are asked during a run and at its end, and the check of each answer.

A question about rows asks for events, one about numbers for a count, the top values or a timeline.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from watchfloor.loadgen.experiments.chaos.written.event_files import BEGINNING, DAYS, HOSTS, USERS
from watchfloor.loadgen.experiments.chaos.written.truth import Condition
from watchfloor.schema.times import format_micros

from .answer_checks import AnswerChecker, parse_micros
from .rest_client import Answer, RestClient

HOUR = 3_600_000_000
BUCKETS = {"minute": HOUR // 60, "hour": HOUR, "day": 24 * HOUR}
_DEADLINE = 25
"""Seconds after which a query ends with what it has."""
_PAUSE = 0.2
_TOP = 10_000
FindDone = Callable[[str], set[int]]
"""Returns the numbers of a layout's files that are done now."""


class Inquirer:
    """Asks one question at a time about one source, and checks the answer."""

    def __init__(self, rest: RestClient, checker: AnswerChecker, source: str) -> None:
        self._rest, self._checker, self._source = rest, checker, source

    def ask_rows(self, condition: Condition, done: set[int], **members: Any) -> Answer:
        """Asks for the events that fit."""
        question = {"source": self._source, **_to_members(condition), **members}
        answer = self._rest.query(**question)
        self._checker.check_clean(answer, question)
        self._checker.check_rows(answer, condition, done, question)
        return answer

    def ask_count(self, condition: Condition, done: set[int]) -> Answer:
        """Asks for the number of events that fit; the condition has no user."""
        question = {"source": self._source, **_to_parameters(condition)}
        answer, all_files = self._get("count", question)
        if answer.outcome == "ok":
            truth = self._checker.truth
            least, most = truth.count_events(condition, done), truth.count_events(condition, all_files)
            numbers = {"count": int(answer.body["count"])}
            self._checker.check_numbers(
                answer, {**question, "route": "count"}, numbers, {"count": least}, {"count": most}
            )
        return answer

    def ask_top_hosts(self, condition: Condition, done: set[int]) -> Answer:
        """Asks for the number of events of each host; the condition has no host and no user."""
        question = {"source": self._source, "field": "host", "limit": _TOP, **_to_parameters(condition)}
        answer, all_files = self._get("top", question)
        if answer.outcome == "ok":
            truth = self._checker.truth
            numbers = {int(value["value"][4:]): int(value["count"]) for value in answer.body["values"]}
            least, most = truth.count_by_host(condition, done), truth.count_by_host(condition, all_files)
            self._checker.check_numbers(answer, {**question, "route": "top"}, numbers, least, most)
        return answer

    def ask_timeline(self, condition: Condition, bucket: str, done: set[int]) -> Answer:
        """Asks for the number of events in each bucket; the condition has no user."""
        question = {"source": self._source, "bucket": bucket, **_to_parameters(condition)}
        answer, all_files = self._get("timeline", question)
        if answer.outcome == "ok":
            truth, width = self._checker.truth, BUCKETS[bucket]
            numbers = {parse_micros(b["start"]): int(b["count"]) for b in answer.body["buckets"]}
            least = truth.count_over_time(condition, width, done)
            most = truth.count_over_time(condition, width, all_files)
            self._checker.check_numbers(answer, {**question, "route": "timeline"}, numbers, least, most)
        return answer

    def _get(self, route: str, question: Mapping[str, Any]) -> tuple[Answer, list[int]]:
        """Returns the answer, and the numbers of all files that were written until it came."""
        answer = self._rest.get(route, **question)
        self._checker.check_clean(answer, {**question, "route": route})
        return answer, list(self._checker.truth.files)


class QuestionLoop:
    """A thread that asks random questions until the end of its context; ``last_ok`` tells of the latest answer."""

    def __init__(self, inquirers: Mapping[str, Inquirer], find_done: FindDone, seed: int) -> None:
        self._inquirers, self._find_done, self._rng = inquirers, find_done, random.Random(f"questions {seed}")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.outcomes: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.last_ok = 0.0
        """When the latest complete answer had begun, in epoch seconds."""

    def __enter__(self) -> QuestionLoop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE):
            answer = self._ask_random()
            outcome = f"{answer.outcome} {answer.status}".strip()
            self.outcomes[outcome] += 1
            self.seconds.append(answer.seconds)
            if outcome in ("ok", "ok complete", "ok limit"):
                self.last_ok = answer.began

    def _ask_random(self) -> Answer:
        rng = self._rng
        layout = rng.choice(sorted(self._inquirers))
        done, inquirer = self._find_done(layout), self._inquirers[layout]
        since = int(BEGINNING.timestamp()) * 1_000_000 + rng.randrange(DAYS * 24) * HOUR
        span = Condition(since, since + rng.randint(1, 12) * HOUR)
        host = Condition(span.since, span.until, host=min(rng.randrange(HOSTS), rng.randrange(HOSTS)))
        kind = rng.choice(("host", "user", "newest", "all", "count", "host count", "top", "timeline"))
        if kind == "host":
            return inquirer.ask_rows(host, done, where=f'host = "host{host.host}"', deadline=_DEADLINE)
        if kind == "user":
            user = Condition(span.since, span.until, user=rng.randrange(USERS))
            return inquirer.ask_rows(user, done, where=f'user = "user{user.user}"', deadline=_DEADLINE)
        if kind == "newest":
            return inquirer.ask_rows(Condition(), done, limit=rng.randint(1, 500), deadline=_DEADLINE)
        if kind == "all":
            hour = Condition(since, since + HOUR // 4)
            return inquirer.ask_rows(hour, done, deadline=_DEADLINE)
        if kind == "count":
            return inquirer.ask_count(span, done)
        if kind == "host count":
            return inquirer.ask_count(host, done)
        if kind == "top":
            return inquirer.ask_top_hosts(rng.choice((span, Condition())), done)
        return inquirer.ask_timeline(rng.choice((span, host, Condition())), rng.choice(("hour", "day", "minute")), done)


def _to_members(condition: Condition) -> dict[str, Any]:
    """Returns the range of a condition as members of a query's body."""
    bounds = {"since": condition.since, "until": condition.until}
    return {name: format_micros(micros) for name, micros in bounds.items() if micros is not None}


def _to_parameters(condition: Condition) -> dict[str, Any]:
    """Returns a condition as query parameters."""
    host = {} if condition.host is None else {"field": "host", "value": f"host{condition.host}"}
    return {**_to_members(condition), **host}
