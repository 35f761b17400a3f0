"""Makes up lines of JSON for a source, as different from each other as those of a log."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_WORDS = ("alpha", "bravo", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "joule")
_MakeValue = Callable[[random.Random], Any]
_MAKERS: Mapping[FieldType, _MakeValue] = {
    FieldType.STRING: lambda drawn: "/".join(drawn.choices(_WORDS, k=drawn.randint(1, 6))),
    FieldType.IP: lambda drawn: f"10.{drawn.randrange(8)}.{drawn.randrange(64)}.{drawn.randrange(256)}",
    FieldType.INT: lambda drawn: int(drawn.paretovariate(0.4)),
    FieldType.PORT: lambda drawn: drawn.randrange(65536),
    FieldType.FLOAT: lambda drawn: round(drawn.expovariate(0.01), 3),
    FieldType.BOOL: lambda drawn: drawn.random() < 0.5,
}


def make_lines(source: Source, count: int) -> bytes:
    """Returns so many lines, a millisecond apart, always the same. Fields of other types are null."""
    drawn = random.Random(0)
    lines = []
    for number in range(count):
        values = {field.name: _MAKERS[field.type](drawn) for field in source.fields if field.type in _MAKERS}
        values[source.time_field] = (_BEGIN + timedelta(milliseconds=number)).isoformat()
        lines.append(json.dumps(values, separators=(",", ":")))
    return "\n".join([*lines, ""]).encode()
