"""Text that errors and plans quote, cut where it is long."""

from __future__ import annotations


def shorten(text: str, width: int = 60) -> str:
    """Returns ``text``, or its beginning and an ellipsis, at most ``width`` characters together."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def shorten_value(value: object, width: int = 60) -> str:
    """Returns a value as an error shows it: strings in quotes, at most ``width`` characters."""
    return shorten(repr(value) if isinstance(value, str) else str(value), width)
