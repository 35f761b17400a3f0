"""Formats Arrow columns as columns of text, so that the work per value stays inside Arrow."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from .visible import escape_controls


@cache
def make_scalar(text: str) -> pa.Scalar:
    """Returns a string scalar, made once per text.

    Converting a Python value to an Arrow value takes ten times as long as joining ten rows.
    """
    return pa.scalar(text)


def join_texts(*parts: pa.Array | str) -> pa.Array:
    """Joins string columns and constants row by row. A row is null where one of its parts is null."""
    # The last argument is the separator.
    return pc.binary_join_element_wise(*(make_scalar(p) if isinstance(p, str) else p for p in parts), make_scalar(""))


def format_times(times: pa.Array) -> pa.Array:
    """Formats a ``timestamp[us, UTC]`` column as ISO 8601: ``2026-01-08T12:00:00.000000Z``."""
    text = times.cast(pa.timestamp("us")).cast(pa.string())
    return join_texts(pc.replace_substring(text, " ", "T", max_replacements=1), "Z")


def format_cells(column: pa.Array, clean: Callable[[str], str] = escape_controls) -> list[str]:
    """Formats each value as the text of a table's cell; ``clean`` is applied to values that may hold any character.

    A null becomes an empty text. The elements of a list are joined by commas.
    """
    if pa.types.is_list(column.type):
        return ["" if row.values is None else ",".join(format_cells(row.values, clean)) for row in column]
    if pa.types.is_timestamp(column.type):
        return [text or "" for text in format_times(column).to_pylist()]
    if pa.types.is_boolean(column.type):
        return [{True: "true", False: "false", None: ""}[value] for value in column.to_pylist()]
    return ["" if value is None else clean(str(value)) for value in column.to_pylist()]
