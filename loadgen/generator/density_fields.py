"""Writes proxy events with two more fields, ``left`` and ``right``, whose values have known densities.

Each field, independently of the other, is ``d0.5`` in half of the events, ``d0.2`` in a fifth, and so on down to
``d1e-07``; the rest have one of ``FILLER_VALUES`` other values. The same arguments give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .generate import CHUNK_EVENTS, GenerationSummary, generate_events

DENSITIES = (0.5, 0.2, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
FIELDS = ("left", "right")
FILLER_VALUES = 500


def density_value(density: float) -> str:
    """Returns the value that has this density in ``left`` and in ``right``."""
    return f"d{density:g}"


def count_density_events(events: int) -> Mapping[float, int]:
    """Returns the number of events that have each density's value; it is the same in both fields."""
    return {density: round(events * density) for density in DENSITIES}


def write_density_events(path: Path, events: int, seed: int) -> GenerationSummary:
    """Writes the events as JSON lines."""
    columns = [_assign_densities(events, [seed, number]) for number in range(len(FIELDS))]
    with path.open("wb") as file:
        return generate_events(_FieldAdder(file, columns), events, seed)


def _assign_densities(events: int, seed: Sequence[int]) -> np.ndarray:
    """Returns the index of each event's value in the array of ``_format_values``; values with a density come first."""
    rng = np.random.Generator(np.random.PCG64(list(seed)))
    values = rng.integers(len(DENSITIES), len(DENSITIES) + FILLER_VALUES, events, dtype=np.int16)
    places = rng.permutation(events).astype(np.int32)
    start = 0
    for number, count in enumerate(count_density_events(events).values()):
        values[places[start : start + count]] = number
        start += count
    return values


def _format_values(field: str) -> pa.Array:
    """Returns the values as JSON members."""
    values = [*map(density_value, DENSITIES), *(f"f{number}" for number in range(FILLER_VALUES))]
    return pa.array([f'"{field}":"{value}",' for value in values])


class _FieldAdder:
    """Adds the fields as first members to each JSON line that is written to ``out``."""

    def __init__(self, out: BinaryIO, columns: Sequence[np.ndarray]) -> None:
        self._out, self._columns, self._at = out, columns, 0
        self._members = [_format_values(field) for field in FIELDS]

    def write(self, chunk: memoryview) -> int:
        """Writes a chunk of whole lines with the fields added; returns the number of bytes written."""
        lines = pa.array([line[1:] for line in bytes(chunk).split(b"\n")[:-1]], pa.binary()).cast(pa.string())
        assert len(lines) <= CHUNK_EVENTS
        here = slice(self._at, self._at + len(lines))
        added = [names.take(pa.array(values[here])) for names, values in zip(self._members, self._columns, strict=True)]
        self._at += len(lines)
        whole = pc.binary_join_element_wise(pa.scalar("{"), *added, lines, pa.scalar("\n"), "")
        return self._out.write(memoryview(whole.buffers()[2])[: pc.sum(pc.binary_length(whole)).as_py()])
