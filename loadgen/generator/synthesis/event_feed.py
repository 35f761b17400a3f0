"""The contract of feeds: an ``EventFeed`` draws and renders one kind of events, whatever their number and times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .sampling import IntArray
from .time_sampler import ActivityProfile, MicrosArray


@dataclass(frozen=True)
class NamedValue:
    """A value of a feed's main field with a known frequency; ``index`` is its index among all values of the field."""

    value: str
    index: int


@dataclass(frozen=True)
class EventFeed:
    """One kind of events.

    ``main_field`` is the field with the three named values; ``value_table`` is the quantile table of its other values.
    ``render_lines`` takes a generator of random numbers, the events' times (ascending) and the indices of their main
    field's values, and returns a line with its line end for each event. ``seed_suffix`` makes the random numbers of
    feeds with the same seed differ.
    """

    source: str
    main_field: str
    popular: NamedValue
    middling: NamedValue
    rare: NamedValue
    value_table: IntArray
    profile: ActivityProfile
    seed_suffix: tuple[int, ...]
    render_lines: Callable[[np.random.Generator, MicrosArray, IntArray], pa.StringArray]

    @property
    def named_values(self) -> tuple[NamedValue, NamedValue, NamedValue]:
        return self.popular, self.middling, self.rare
