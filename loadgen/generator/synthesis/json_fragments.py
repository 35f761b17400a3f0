"""JSON lines joined from fragments that are made and escaped once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from .time_sampler import DAY, MicrosArray

JsonValue = str | int | float | bool | None | Sequence[str] | Sequence[int]


def format_member(name: str, value: JsonValue) -> str:
    """Returns one member of a JSON object with a comma before it. ``name`` must need no escapes."""
    return f',"{name}":{orjson.dumps(value).decode()}'


def format_member_array(name: str, values: Sequence[JsonValue]) -> pa.StringArray:
    """Returns a member for each value of a field."""
    return pa.array([format_member(name, value) for value in values], pa.string())


def format_members(**values: JsonValue) -> str:
    """Returns several adjacent members of a JSON object as one fragment."""
    return "".join(format_member(name, value) for name, value in values.items())


def build_line_starts(times: MicrosArray) -> list[pa.Array | pa.Scalar]:
    """Returns the parts of lines up to the first field, the time: ``{"ts":"2026-01-01T09:15:00.000001Z"``."""
    days, day_of = np.unique(times // DAY, return_inverse=True)
    day_texts = pa.array([f'{{"ts":"{datetime.fromtimestamp(int(d) * 86_400, UTC):%Y-%m-%d}T' for d in days])
    return [
        day_texts.take(pa.array(day_of)),
        pa.array(times % DAY, pa.time64("us")).cast(pa.string()),
        pa.scalar('Z"'),
    ]


def join_parts(parts: Sequence[pa.Array | pa.Scalar]) -> pa.StringArray:
    """Returns each line's parts joined."""
    return pc.binary_join_element_wise(*parts, "")
