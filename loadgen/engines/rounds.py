"""Rounds of questions: each party answers all of its questions before the next one does, so that a busy moment of the
machine falls on all, and none finds the caches as its own last answer left them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from watchfloor.loadgen.harness.cpu_usage import read_cpu_seconds
from watchfloor.loadgen.harness.session import print_progress
from watchfloor.schema.errors import InternalError

from .answer import Answer
from .question import Question

WARM_UP = 0.1
"""Seconds for which each question is asked beforehand, for each round in which answers count: servers that run for days
have compiled what they do, and a few rounds are no time to compile in."""


@dataclass(frozen=True)
class Party:
    """An engine that holds ``events`` events. It answers in ``turns`` rounds at most. ``processes`` are pids of those
    that work for an answer, by what they are; none where they are on other machines."""

    engine: str
    events: int
    ask: Callable[[Question, bool], Answer]
    questions: Sequence[Question]
    turns: int
    processes: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass
class Asked:
    """What a party's answers to one question were like."""

    seconds: list[float] = field(default_factory=list)
    rows: int = 0
    digest: str = ""


Key = tuple[str, int, str]
"""Engine, events that it holds, name of the question."""


def ask_all(parties: Sequence[Party], repeats: int) -> Mapping[Key, Asked]:
    """Answers count when each party is warm: when it has been asked each question for ``repeats * WARM_UP`` seconds,
    and then all of them once more, in a round in which answers are checked; that one gives the digests. A party with
    fewer turns than ``repeats`` is slow, and warm after this round.

    Raises ``InternalError`` for rows that should come newest first and do not.
    """
    found: dict[Key, Asked] = defaultdict(Asked)
    for party in parties:
        if party.turns >= repeats:
            print_progress(f"questions: {party.engine} is warming up")
            _warm_up(party, repeats * WARM_UP)
    for turn in range(-1, repeats):
        for party in parties:
            if turn >= party.turns:
                continue
            for question in party.questions:
                answer = party.ask(question, turn < 0)
                if not answer.in_order:
                    raise InternalError(f"{party.engine} did not give the rows of {question.name!r} newest first")
                asked = found[party.engine, party.events, question.name]
                if turn < 0:
                    asked.rows, asked.digest = answer.rows, answer.digest
                else:
                    asked.seconds.append(answer.seconds)
        print_progress(f"questions: round {turn + 1} of {repeats}" if turn >= 0 else "questions: answers are checked")
    return found


@dataclass(frozen=True)
class Profile:
    """Seconds of an answer, a mean: by the clock, and of processors by the party's processes."""

    clock: float
    cpu: Mapping[str, float]


def profile(party: Party, seconds: float) -> dict[str, Profile]:
    """Where the time of a warm party's answers goes, by question: each is asked again and again for ``seconds``, once
    at least. Linux counts in hundredths of a second."""
    found = {}
    for question in party.questions:
        before = _cpu(party)
        answers = _ask_for(party, question, seconds)
        after = _cpu(party)
        clock = sum(answer.seconds for answer in answers)
        cpu = {name: (after[name] - before[name]) / len(answers) for name in before}
        found[question.name] = Profile(clock / len(answers), cpu)
    return found


def _cpu(party: Party) -> dict[str, float]:
    return {name: sum(map(read_cpu_seconds, pids)) for name, pids in party.processes.items() if pids}


def _warm_up(party: Party, seconds: float) -> None:
    for question in party.questions:
        _ask_for(party, question, seconds)


def _ask_for(party: Party, question: Question, seconds: float) -> list[Answer]:
    """The answers to a question that is asked until ``seconds`` have gone by."""
    began = time.perf_counter()
    answers: list[Answer] = []
    while not answers or time.perf_counter() - began < seconds:
        answers.append(party.ask(question, False))
    return answers
