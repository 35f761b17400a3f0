"""What a feed is: how one kind of events is drawn and written, whatever their number and times are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .sampling import Ints
from .time_sampler import Micros, Rhythm


@dataclass(frozen=True)
class Named:
    """A value of a feed's main field with a known frequency; ``place``: among all values of the field."""

    value: str
    place: int


@dataclass(frozen=True)
class EventFeed:
    """One kind of events.

    ``main`` is the field with the three named values. ``table`` draws its other values, as places (``draw``).
    ``lines`` writes events: from a generator of random numbers, their times (ascending) and the places of their main
    field's values to a line each, with its line end. ``stream`` keeps the random numbers of feeds apart that are made
    with the same seed.
    """

    source: str
    main: str
    popular: Named
    middling: Named
    rare: Named
    table: Ints
    rhythm: Rhythm
    stream: tuple[int, ...]
    lines: Callable[[np.random.Generator, Micros, Ints], pa.StringArray]

    @property
    def named(self) -> tuple[Named, Named, Named]:
        return self.popular, self.middling, self.rare
