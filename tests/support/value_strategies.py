"""Drawn values of every type, how they stand in Arrow columns, and how many a test draws."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from watchfloor.schema.field import FieldType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.integers(0, 9_214_646_400_000_000).map(lambda us: EPOCH + timedelta(microseconds=us))
ADDRESSES = st.ip_addresses().filter(lambda a: getattr(a, "scope_id", None) is None)

VALUES: dict[FieldType, st.SearchStrategy[Any]] = {
    FieldType.STRING: st.text(st.characters(codec="utf-8")),
    FieldType.INT: st.integers(-(1 << 63), (1 << 63) - 1),
    FieldType.FLOAT: st.floats(allow_nan=False),
    FieldType.BOOL: st.booleans(),
    FieldType.TIME: TIMES,
    FieldType.IP: ADDRESSES,
    FieldType.PORT: st.integers(0, 65535),
}


def to_arrow(value: Any) -> Any:
    """Returns a value as Arrow columns have it: addresses are text."""
    return str(value) if hasattr(value, "packed") else value


def count_examples(most: int) -> int:
    """Returns how many examples a test draws that draws ``most`` otherwise: in continuous integration a fifth."""
    return most // 5 if "WATCHFLOOR_CI_RUN" in os.environ else most
