"""Writes decoded JSON values as JSON text, as the field ``extra`` and fields of objects hold it."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from .scalars import Unfit


def write_json(value: Any) -> str:
    """Returns a value as JSON text. Raises ``Unfit`` if it is nested too deep."""
    try:
        return orjson.dumps(value, default=_plain_number).decode()
    except TypeError:  # integers over 64 bits, or lists nested deep
        try:
            return json.dumps(value, default=_plain_number, ensure_ascii=False, separators=(",", ":"))
        except RecursionError:
            raise Unfit("not JSON that can be kept: it is nested too deep") from None


def _plain_number(value: Any) -> Any:
    """Returns a ``Decimal`` as a float, or as text if no float holds it."""
    number = float(value)
    return number if math.isfinite(number) else str(value)
