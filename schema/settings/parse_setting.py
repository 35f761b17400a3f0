"""Parses and checks values of settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

SettingType = Literal[
    "path", "host", "protocol", "user", "int", "bytes", "heap", "durability", "mode", "topic", "switch", "workers"
]
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
AUTO = "auto"
_MOST_WORKERS = 256
_SIZE = re.compile(r"(\d+)\s*(?:([kmg])i?b?|b)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Returns the number of bytes that ``64m``, ``64MiB``, ``1g`` or a number stands for. Raises ``ValueError``."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a size such as 256m or 1g")
    return int(match[1]) * _UNITS[(match[2] or "").lower()]


def parse_setting(raw: Any, kind: SettingType, low: int, high: int) -> Any:
    """Returns ``raw``, from a file, a variable or a flag, as a value of ``kind``.

    ``low`` and ``high`` bound numbers. Raises ``ValueError``, which names what was expected.
    """
    if kind == "path":
        if not isinstance(raw, str | Path) or not str(raw) or "\0" in str(raw):
            raise ValueError(f"{raw!r} is not a path")
        return Path(raw)
    if kind in ("int", "bytes"):
        return _parse_whole_number(raw, kind, low, high)
    if kind == "workers":
        return AUTO if raw == AUTO else str(_parse_whole_number(raw, "int", 0, _MOST_WORKERS))
    text = str(raw).strip()
    if not isinstance(raw, str) or not text:
        raise ValueError(f"{raw!r} should be text")
    if kind == "heap" and parse_size(text) < 32 << 20:
        raise ValueError(f"{text!r} is too small for a heap; 32m is the least")
    if kind == "durability" and text not in ("flush", "sync"):
        raise ValueError(f"{text!r} is neither flush nor sync")
    if kind == "mode" and text not in ("live", "bulk"):
        raise ValueError(f"{text!r} is neither live nor bulk")
    if kind == "switch" and text not in ("on", "off"):
        raise ValueError(f"{text!r} is neither on nor off")
    if kind == "protocol" and text not in ("SASL_SSL", "SASL_PLAINTEXT"):
        raise ValueError(f"{text!r} is neither SASL_SSL nor SASL_PLAINTEXT")
    if kind == "topic" and not re.fullmatch(r"[A-Za-z0-9._-]{1,200}", text):
        raise ValueError(f"{text!r} may hold letters, digits, dot, dash and underscore only")
    # The JVM knows 1g but not 1GiB.
    return f"{parse_size(text) >> 20}m" if kind == "heap" else text


def _parse_whole_number(raw: Any, kind: SettingType, low: int, high: int) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int | str):
        raise ValueError(f"{raw!r} is not a whole number")
    if isinstance(raw, int):
        value = raw
    elif kind == "bytes":
        value = parse_size(raw)
    else:
        try:
            value = int(raw)
        except ValueError:
            raise ValueError(f"{raw!r} is not a whole number") from None
    if not low <= value <= high:
        raise ValueError(f"{value} is outside {low} to {high}" if high < 1 << 62 else f"{value} is less than {low}")
    return value
