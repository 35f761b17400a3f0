"""The costs of reading events: a layout states them, the planner compares ways to run a query by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ReadCosts:
    """Costs of reading one layout, in seconds except for ``place_events``.

    A place is what an index entry leads to: an event in the cell layout, a block of events in the block layout.
    The names of the members are the names under which a store keeps its measured costs.
    """

    place_events: float
    """The largest number of events in a place."""
    scan: float
    """A scan that finds all requested events at once."""
    event: float
    """Filtering one event in a scan."""
    pattern: float
    """Testing one event by a regular expression or a wildcard."""
    hit: float
    """The additional cost of a place that has matches, in a scan."""
    look_up: float
    """Fetching what the index leads to, apart from the places themselves."""
    place: float
    """Fetching and filtering one place."""
    entry: float
    """Reading one index entry of an equality."""
    row: float
    """Handing one match over, with all its fields."""

    def replace_measured(self, measured: Mapping[str, float]) -> ReadCosts:
        """Returns these costs with those measured on a store in their place; skips unknown names, negative values."""
        known = {name: value for name, value in measured.items() if name in self.__dataclass_fields__ and value >= 0}
        return replace(self, **known)
