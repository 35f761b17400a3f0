"""Numbers with their units, as plans print them."""

from __future__ import annotations


def number(value: float, one: str, many: str = "") -> str:
    """``1 event``, ``12,000 events``, ``0.2 events``."""
    return f"{_figures(value)} {one if value == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """A share of 1 in percent, two significant digits."""
    if share <= 0:
        return "0 %"
    return f"{_plain(share * 100)} %"


def duration(seconds: float) -> str:
    """``60 µs``, ``12 ms``, ``6.5 s``, ``2 min``, ``3 h``."""
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"), (120, 1, "s"), (7200, 1 / 60, "min")):
        if seconds < limit:
            return f"{_plain(seconds * scale)} {unit}"
    return f"{_plain(seconds / 3600)} h"


def listed(words: list[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return f" {last} ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _figures(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or value >= 10 else _plain(value)


def _plain(value: float) -> str:
    """Two significant digits, never in scientific notation."""
    if value >= 99.5:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    text = f"{float(f'{value:.2g}'):.12f}".rstrip("0").rstrip(".")
    return text if text != "0" else f"{value:.1e}"
