"""The cell layout's costs, measured with 2 cores and one tablet server; a calibrated store has its own."""

from __future__ import annotations

from watchfloor.schema.read_costs import ReadCosts

CELL_COSTS = ReadCosts(
    place_events=1,
    scan=5e-3,
    event=6.5e-6,
    pattern=0.5e-6,
    hit=0.0,
    look_up=5e-3,
    place=70e-6,
    entry=2e-6,
    row=1e-6,
)
