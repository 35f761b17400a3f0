"""Rounds of questions: each party answers all of its questions before the next one does, so that a busy moment of the
machine falls on all, and none finds the caches as its own last answer left them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from watchfloor.schema.errors import InternalError

from .engines.answer import Answer
from .engines.question import Question
from .rig import say

WARM_UP = 3


@dataclass(frozen=True)
class Party:
    """An engine that holds ``events`` events. It answers in ``turns`` rounds at most."""

    engine: str
    events: int
    ask: Callable[[Question, bool], Answer]
    questions: Sequence[Question]
    turns: int


@dataclass
class Asked:
    """What a party's answers to one question were like."""

    seconds: list[float] = field(default_factory=list)
    rows: int = 0
    digest: str = ""


Key = tuple[str, int, str]
"""Engine, events that it holds, name of the question."""


def ask_all(parties: Sequence[Party], repeats: int, warm_up: int = WARM_UP) -> Mapping[Key, Asked]:
    """Answers that are counted come after ``warm_up`` rounds, or ``repeats`` if these are fewer; those of a party with
    fewer turns than ``repeats`` come after one. In the last of these rounds answers are checked; it gives the digests.

    Raises ``InternalError`` for rows that should come newest first and do not.
    """
    found: dict[Key, Asked] = defaultdict(Asked)
    warm_up = min(warm_up, repeats)
    for turn in range(-warm_up, repeats):
        for party in parties:
            # Who answers in few rounds is slow, and warm after one.
            if turn >= party.turns or (turn < -1 and party.turns < repeats):
                continue
            for question in party.questions:
                answer = party.ask(question, turn == -1)
                if not answer.in_order:
                    raise InternalError(f"{party.engine} did not give the rows of {question.name!r} newest first")
                asked = found[party.engine, party.events, question.name]
                if turn >= 0:
                    asked.seconds.append(answer.seconds)
                elif turn == -1:
                    asked.rows, asked.digest = answer.rows, answer.digest
        say(f"questions: round {turn + 1} of {repeats}" if turn >= 0 else "questions: warming up")
    return found
