"""Formats text for errors, plans and explanations: numbers with units, lists of words, shortened quotations."""

from __future__ import annotations

from collections.abc import Sequence


def shorten(text: str, width: int = 60) -> str:
    """Returns ``text``, cut to ``width`` characters, the last of which is then an ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def shorten_value(value: object, width: int = 60) -> str:
    """Returns a value as an error shows it: strings in quotes, at most ``width`` characters."""
    return shorten(repr(value) if isinstance(value, str) else str(value), width)


def format_number(value: float, one: str, many: str = "") -> str:
    """Returns a number with its noun: ``1 event``, ``0.2 events``; ``many`` is the plural, by default ``one`` + s."""
    return f"{_format_figures(value)} {one if value == 1 else many or one + 's'}"


def format_percent(share: float) -> str:
    """Returns a share, where 1 is all, in percent with two significant digits."""
    if share <= 0:
        return "0 %"
    return f"{_format_plain(share * 100)} %"


def format_duration(seconds: float) -> str:
    """Returns a duration in a unit that fits: ``60 µs``, ``12 ms``, ``6.5 s``, ``2 min``, ``3 h``."""
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"), (120, 1, "s"), (7200, 1 / 60, "min")):
        if seconds < limit:
            return f"{_format_plain(seconds * scale)} {unit}"
    return f"{_format_plain(seconds / 3600)} h"


def list_names(names: Sequence[str], most: int = 8) -> str:
    """Returns names with commas between them; of many only the first ``most`` and the number of the others."""
    more = len(names) - most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:most])} and {more:,} more"


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Returns words as a list in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return f" {last} ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _format_figures(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or value >= 10 else _format_plain(value)


def _format_plain(value: float) -> str:
    """Returns a number with two significant digits, or as an integer; only tiny ones are in scientific notation."""
    if value >= 99.5:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    text = f"{float(f'{value:.2g}'):.12f}".rstrip("0").rstrip(".")
    return text if text != "0" else f"{value:.1e}"
