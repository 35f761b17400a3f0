"""The order of cases that are measured turn by turn."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def shuffle_cases(cases: Iterable[T], turn: int) -> list[T]:
    """Returns all cases in an order that depends on the turn only.

    Each case leaves caches and garbage to the next one, so the next one should not always be the same.
    """
    shuffled = list(cases)
    random.Random(turn).shuffle(shuffled)
    return shuffled
