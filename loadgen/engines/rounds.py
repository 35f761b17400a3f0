"""Rounds of questions: each participant answers all of its questions before the next one does.

So a busy moment of the machine affects all participants, and none finds the caches as its own last answer left them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from watchfloor.loadgen.harness.cpu_usage import read_cpu_seconds
from watchfloor.loadgen.harness.session import print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.schema.errors import InternalError

from .answer import EngineAnswer
from .question import EngineQuestion

WARM_UP_SECONDS = 0.1
"""Seconds for which each question is asked beforehand, per counted round: servers in production have run for days and
compiled their code, which takes more than a few rounds."""


@dataclass(frozen=True)
class Participant:
    """An engine that holds ``events`` events and answers in at most ``max_rounds`` rounds.

    ``processes`` are the pids of the processes that work for an answer, by role; empty if they are on other machines.
    ``shuffled`` questions are asked in another order in each round.
    """

    engine: str
    events: int
    ask_question: Callable[[EngineQuestion, bool], EngineAnswer]
    questions: Sequence[EngineQuestion]
    max_rounds: int
    processes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    shuffled: bool = False


@dataclass
class AnswerSamples:
    """A participant's answers to one question: the seconds of each, and the rows and digest of the checked one.

    ``firsts`` are the seconds to the first row of each.
    """

    seconds: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    rows: int = 0
    digest: str = ""


AnswerKey = tuple[str, int, str]
"""The engine, the number of events that it holds, and the name of the question."""


def run_rounds(
    participants: Sequence[Participant], repeats: int, warm_up_rounds: int | None = None
) -> Mapping[AnswerKey, AnswerSamples]:
    """Asks all participants all of their questions in ``repeats`` rounds; returns the samples by engine and question.

    Before the rounds that count, each participant warms up: it is asked each question for ``WARM_UP_SECONDS`` times
    ``repeats``, or times ``warm_up_rounds`` if they are given, and then each once more in a round whose answers are
    checked and digested. A participant with fewer rounds than ``repeats`` is slow and has only that round to warm up.
    Raises InternalError for rows that should come newest first and do not.
    """
    warm_up_seconds = WARM_UP_SECONDS * (repeats if warm_up_rounds is None else warm_up_rounds)
    samples: dict[AnswerKey, AnswerSamples] = defaultdict(AnswerSamples)
    for participant in participants:
        if participant.max_rounds >= repeats:
            print_progress(f"questions: {participant.engine} is warming up")
            _warm_up_participant(participant, warm_up_seconds)
    for turn in range(-1, repeats):
        for participant in participants:
            if turn >= participant.max_rounds:
                continue
            questions = shuffle_cases(participant.questions, turn) if participant.shuffled else participant.questions
            for question in questions:
                answer = participant.ask_question(question, turn < 0)
                if not answer.in_order:
                    raise InternalError(f"{participant.engine} did not give the rows of {question.name!r} newest first")
                answers = samples[participant.engine, participant.events, question.name]
                if turn < 0:
                    answers.rows, answers.digest = answer.rows, answer.digest
                else:
                    answers.seconds.append(answer.seconds)
                    answers.firsts.append(answer.first_seconds)
        print_progress(f"questions: round {turn + 1} of {repeats}" if turn >= 0 else "questions: answers are checked")
    return samples


@dataclass(frozen=True)
class AnswerProfile:
    """Mean seconds of an answer by the clock, and mean processor seconds of each of the participant's processes."""

    seconds: float
    cpu_seconds: Mapping[str, float]


def profile_answers(participant: Participant, seconds: float) -> dict[str, AnswerProfile]:
    """Returns where the time of a warm participant's answers goes, by question.

    Each question is asked repeatedly for ``seconds``, at least once, because Linux counts processor time in hundredths
    of a second.
    """
    profiles = {}
    for question in participant.questions:
        before = _read_cpu_seconds(participant)
        answers = _ask_repeatedly(participant, question, seconds)
        after = _read_cpu_seconds(participant)
        clock = sum(answer.seconds for answer in answers)
        cpu = {name: (after[name] - before[name]) / len(answers) for name in before}
        profiles[question.name] = AnswerProfile(clock / len(answers), cpu)
    return profiles


def _read_cpu_seconds(participant: Participant) -> dict[str, float]:
    return {name: sum(map(read_cpu_seconds, pids)) for name, pids in participant.processes.items() if pids}


def _warm_up_participant(participant: Participant, seconds: float) -> None:
    for question in participant.questions:
        _ask_repeatedly(participant, question, seconds)


def _ask_repeatedly(participant: Participant, question: EngineQuestion, seconds: float) -> list[EngineAnswer]:
    """Asks a question until ``seconds`` have passed, at least once; returns the answers."""
    began = time.perf_counter()
    answers: list[EngineAnswer] = []
    while not answers or time.perf_counter() - began < seconds:
        answers.append(participant.ask_question(question, False))
    return answers
