"""What a feed is: how one kind of events is drawn and written, whatever their number and times are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .sampling import IntArray
from .time_sampler import ActivityProfile, MicrosArray


@dataclass(frozen=True)
class NamedValue:
    """A value of a feed's main field with a known frequency; ``place``: among all values of the field."""

    value: str
    index: int


@dataclass(frozen=True)
class EventFeed:
    """One kind of events.

    ``main`` is the field with the three named values. ``table`` draws its other values, as places (``draw``).
    ``lines`` writes events: from a generator of random numbers, their times (ascending) and the places of their main
    field's values to a line each, with its line end. ``stream`` keeps the random numbers of feeds apart that are made
    with the same seed.
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
