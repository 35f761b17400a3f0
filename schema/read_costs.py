"""The costs of reading events, which each layout states and by which the planner compares access paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ReadCosts:
    """Costs of reading one layout, in seconds except for ``place_events``.

    An index entry leads to a place: an event in the cell layout, a block of events in the block layout. A store keeps
    its measured costs under the names of the members.
    """

    place_events: float
    """The largest number of events in a place."""
    scan: float
    """The fixed cost of a scan: its time if it finds all requested events at once."""
    event: float
    """Filtering one event in a scan."""
    pattern: float
    """Testing one event by a regular expression or a wildcard."""
    hit: float
    """Reading a place that has matches in a scan, in addition to the cost of its events."""
    look_up: float
    """The fixed cost of fetching the places that the index leads to."""
    place: float
    """Fetching and filtering one place."""
    entry: float
    """Reading one index entry of an equality."""
    row: float
    """Handing one match over, with all its fields."""

    def replace_measured(self, measured: Mapping[str, float]) -> ReadCosts:
        """Returns these costs with the measured ones in their place; ignores unknown names and negative values."""
        known = {name: value for name, value in measured.items() if name in self.__dataclass_fields__ and value >= 0}
        return replace(self, **known)
