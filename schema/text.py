"""Text that errors, plans and explanations print: numbers with their units, lists of words, quotations cut short."""

from __future__ import annotations


def shorten(text: str, width: int = 60) -> str:
    """Returns ``text``, or its beginning and an ellipsis, at most ``width`` characters together."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def shorten_value(value: object, width: int = 60) -> str:
    """Returns a value as an error shows it: strings in quotes, at most ``width`` characters."""
    return shorten(repr(value) if isinstance(value, str) else str(value), width)


def format_number(value: float, one: str, many: str = "") -> str:
    """Returns ``1 event``, ``12,000 events``, ``0.2 events``; ``many`` is the plural if it is not ``one`` with an s."""
    return f"{_format_figures(value)} {one if value == 1 else many or one + 's'}"


def format_percent(share: float) -> str:
    """Returns a share of 1 in percent, with two significant digits."""
    if share <= 0:
        return "0 %"
    return f"{_format_plain(share * 100)} %"


def format_duration(seconds: float) -> str:
    """Returns ``60 µs``, ``12 ms``, ``6.5 s``, ``2 min``, ``3 h``."""
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"), (120, 1, "s"), (7200, 1 / 60, "min")):
        if seconds < limit:
            return f"{_format_plain(seconds * scale)} {unit}"
    return f"{_format_plain(seconds / 3600)} h"


def join_words(words: list[str], last: str = "and") -> str:
    """Returns ``a``, ``a and b``, ``a, b and c``."""
    return f" {last} ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _format_figures(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or value >= 10 else _format_plain(value)


def _format_plain(value: float) -> str:
    """Returns two significant digits, never in scientific notation above 1e-12."""
    if value >= 99.5:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    text = f"{float(f'{value:.2g}'):.12f}".rstrip("0").rstrip(".")
    return text if text != "0" else f"{value:.1e}"
