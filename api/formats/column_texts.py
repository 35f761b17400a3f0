"""Formats Arrow columns as the texts of a table's cells."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from watchfloor.query.texts.columns import format_times

from .visible import escape_controls


def format_cells(column: pa.Array, clean: Callable[[str], str] = escape_controls) -> list[str]:
    """Formats each value as the text of a table's cell; ``clean`` is applied to values that may hold any character.

    A null becomes an empty text. The elements of a list are joined by commas.
    """
    if isinstance(column.type, pa.JsonType):
        column = column.storage
    if pa.types.is_list(column.type):
        return ["" if row.values is None else ",".join(format_cells(row.values, clean)) for row in column]
    if pa.types.is_timestamp(column.type):
        return [text or "" for text in format_times(column).to_pylist()]
    if pa.types.is_boolean(column.type):
        return [{True: "true", False: "false", None: ""}[value] for value in column.to_pylist()]
    return ["" if value is None else clean(str(value)) for value in column.to_pylist()]
