"""The plan of faults: a pure function of the seed and of the length of the run.

Faults are drawn from a deck that has every kind of fault for every process, so that a run of some length has them all.
They overlap: while a server is paused, another one may be killed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Action = Literal["kill", "short pause", "long pause", "restart"]

TSERVERS = ("tserver1", "tserver2")
SERVERS = ("zookeeper", "kafka", "manager", "gc", *TSERVERS)
SERVICES = ("master", "pool live", "pool bulk", "worker live", "worker bulk", "serve", "compaction")
"""Watchfloor's commands. A pool is the process that starts workers, and starts them again when they die."""
PROCESSES = (*SERVERS, "supervisor", *SERVICES)
SHORT_PAUSE = (1.0, 5.0)
"""Seconds, below all time-outs: ZooKeeper's of 8 s, Kafka's of 6 s, the ledger's of 10 s."""
LONG_PAUSE = (11.0, 16.0)
"""Seconds, above all time-outs."""
DOWN = (0.0, 5.0)
"""Seconds until a process is started again that no supervisor and no pool starts by itself."""
GAP = (3.0, 17.0)
"""Seconds from one fault to the next."""
_SETTLING = 3.0
"""Seconds after the end of a fault before the next one of the same process."""
_LAST_FAULT = 5.0
"""Seconds before the end of the run in which no fault begins."""


@dataclass(frozen=True)
class Fault:
    """A fault of ``processes``, ``at`` seconds after the beginning; pauses and outages last for ``seconds``."""

    number: int
    at: float
    action: Action
    processes: tuple[str, ...]
    seconds: float

    @property
    def process(self) -> str:
        """The name of what is hit, for people."""
        return "all servers" if self.processes == SERVERS else " and ".join(self.processes)


def make_plan(seed: int, seconds: float, processes: Sequence[str] = PROCESSES) -> list[Fault]:
    """Returns the faults of a run, which hit these processes, in the order of their times."""
    rng = random.Random(f"chaos {seed}")
    faults: list[Fault] = []
    free = dict.fromkeys(processes, 0.0)
    cards = _draw_cards(rng, processes)
    at = rng.uniform(*GAP)
    while at < seconds - _LAST_FAULT:
        action, hit = next(cards)
        duration = rng.uniform(*{"short pause": SHORT_PAUSE, "long pause": LONG_PAUSE}.get(action, DOWN))
        at = max(at, *(free[process] for process in hit))
        if at >= seconds - _LAST_FAULT:
            break
        faults.append(Fault(len(faults), round(at, 3), action, hit, round(duration, 3)))
        free.update(dict.fromkeys(hit, at + duration + _SETTLING))
        at += rng.uniform(*GAP)
    return faults


def _draw_cards(rng: random.Random, processes: Sequence[str]) -> Iterator[tuple[Action, tuple[str, ...]]]:
    """Yields the cards of one shuffled deck after the other."""
    every: tuple[Action, ...] = ("kill", "short pause", "long pause", "restart")
    deck: list[tuple[Action, tuple[str, ...]]] = [(action, (process,)) for process in processes for action in every]
    # What a server does that wakes after its time-out is the hardest to get right.
    deck += [("long pause", (process,)) for process in TSERVERS * 3]
    deck += [("kill", TSERVERS), ("long pause", TSERVERS), ("kill", SERVERS), ("short pause", SERVERS)]
    deck = [(action, hit) for action, hit in deck if set(hit) <= set(processes)]
    while True:
        yield from rng.sample(deck, len(deck))
