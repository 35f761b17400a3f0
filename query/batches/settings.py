"""The settings of query batches, as requests carry them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from watchfloor.schema.errors import UserError

from .registry import POLICIES

MAX_WIDTH = 2**62
"""The largest width in µs: more than any time range, and small enough that no sum overflows."""


@dataclass(frozen=True)
class BatchSettings:
    """The settings by which a query is cut into batches. Raises ``UserError`` for a value out of its bounds.

    ``policy`` is a key of ``POLICIES``. The first batch aims at ``first_rows`` (the paper's k_0), each later batch at
    ``growth`` (c) times as many as the one before. A batch should run ``min_seconds`` to ``max_seconds`` (T_min, T_max)
    and is never narrower than ``min_width`` µs (t_min). ``width`` (µs) is the width of policy ``fixed``.
    """

    policy: str = "density"
    growth: float = 1.5
    min_width: int = 1_000
    min_seconds: float = 1.0
    max_seconds: float = 30.0
    first_rows: float = 10.0
    width: int = 3_600_000_000

    def __post_init__(self) -> None:
        for name, good, bound in (
            ("policy", self.policy in POLICIES, f"one of {', '.join(POLICIES)}"),
            ("growth", 1.01 <= self.growth <= 1_000, "between 1.01 and 1,000"),
            ("min_width", 1 <= self.min_width <= MAX_WIDTH, "at least 1 µs"),
            ("min_seconds", 0 < self.min_seconds <= self.max_seconds, "above 0 s and at most max_seconds"),
            ("max_seconds", math.isfinite(self.max_seconds), "finite"),
            ("first_rows", 1 <= self.first_rows <= 1e9, "at least 1 row"),
            ("width", 1 <= self.width <= MAX_WIDTH, "at least 1 µs"),
        ):
            if not good:
                raise UserError(f"batching: {name} = {getattr(self, name)!r} must be {bound}")
