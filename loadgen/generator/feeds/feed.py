"""What a feed is: how one kind of events is drawn and written, whatever their number and times are."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from watchfloor.schema.errors import UnknownSourceError

from . import NAMES
from .clock import Micros, Rhythm
from .draw import Ints


@dataclass(frozen=True)
class Named:
    """A value of a feed's main field with a known frequency; ``place``: among all values of the field."""

    value: str
    place: int


@dataclass(frozen=True)
class Feed:
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


def open_feed(source: str) -> Feed:
    """The feed of a source; takes up to a second the first time. Raises ``UnknownSourceError``."""
    if source not in NAMES:
        raise UnknownSourceError(source, NAMES)
    feed: Feed = importlib.import_module(f".{NAMES[source]}", __package__).feed()
    return feed
