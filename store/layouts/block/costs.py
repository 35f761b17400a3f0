"""The block layout's costs, measured with 2 cores and one tablet server; a calibrated store has its own costs."""

from __future__ import annotations

from watchfloor.schema.read_costs import ReadCosts

BLOCK_COSTS = ReadCosts(
    place_events=16384,
    scan=6e-3,
    event=8e-9,
    pattern=40e-9,
    hit=6e-4,
    look_up=7e-3,
    place=1e-3,
    entry=0.0,
    row=1.4e-6,
)
