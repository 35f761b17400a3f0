"""An engine's answer: its time, its rows, their order, and a digest by which answers are compared."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

from .question import EngineQuestion, QuestionKind

AnswerRows: TypeAlias = pa.Table | list[dict[str, Any]]
"""Rows as an engine's own client returns them: in columns, or each event as an object parsed from its JSON."""

_MAX_HASHED_ROWS = 10_000


@dataclass(frozen=True)
class EngineAnswer:
    """An engine's answer. ``seconds`` count from the question until the caller has the last row.

    ``first_seconds`` count until it has the first one; they are 0 where all rows come at once.

    A checked answer has the ``digest`` of its rows; ``in_order`` is False if they should come newest first and do not.
    """

    seconds: float
    rows: int
    digest: str = ""
    in_order: bool = True
    first_seconds: float = 0.0


def check_answer(seconds: float, rows: pa.Table, source: Source, question: EngineQuestion) -> EngineAnswer:
    """Returns the checked answer to ``question`` for ``rows``, which are in the order in which they came."""
    in_order = question.kind is not QuestionKind.NEWEST or _is_newest_first(rows.column(source.time_field))
    return EngineAnswer(seconds, len(rows), digest_rows(rows, [field.name for field in source.fields]), in_order)


def build_table(rows: AnswerRows, source: Source) -> pa.Table:
    """Returns the rows as columns of the source's types."""
    if isinstance(rows, pa.Table):
        return rows
    columns = {}
    for field in source.fields:
        values = [event.get(field.name) for event in rows]
        # Times are text in JSON, and so are all values of an engine that keeps text alone.
        text = field.type is FieldType.TIME or any(isinstance(value, str) for value in values)
        columns[field.name] = pa.array(values, pa.string()).cast(field.arrow) if text else pa.array(values, field.arrow)
    return pa.table(columns)


def digest_rows(table: pa.Table, columns: Sequence[str]) -> str:
    """Returns a digest that does not depend on the order of rows or on an engine's choice of Arrow types.

    It is a hash of all values for up to 10,000 rows, and of a sum of each column for more. A missing string counts as
    an empty one, as chDB stores it.
    """
    plain = [_to_plain_type(table.column(name)) for name in columns]
    if len(table) <= _MAX_HASHED_ROWS:
        rows = sorted(map(repr, zip(*(column.to_pylist() for column in plain), strict=True)))
        return hashlib.blake2b("\n".join(rows).encode(), digest_size=8).hexdigest()
    return hashlib.blake2b(repr([_sum_column(column) for column in plain]).encode(), digest_size=8).hexdigest()


def _is_newest_first(times: pa.ChunkedArray) -> bool:
    """Returns True if times never ascend; events of the same time may come in any order."""
    micros = _to_plain_type(times).to_numpy()
    return bool((micros[:-1] >= micros[1:]).all())


def _to_plain_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns a column as int64, float64 or string; times become µs since 1970 UTC."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _to_plain_type(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8()).cast(pa.int64())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    return pc.fill_null(column.cast(pa.string()), "")


def _sum_column(column: pa.ChunkedArray) -> int | float:
    """Returns the sum of a column modulo 2**64; for strings, the sum of their checksums."""
    if not pa.types.is_string(column.type):
        values = pc.fill_null(column, 0).to_numpy()
        return values.sum().item()
    total = 0
    for chunk in column.chunks:
        coded = chunk.dictionary_encode()
        times = np.bincount(coded.indices.to_numpy(), minlength=len(coded.dictionary)).tolist()
        total += sum(n * zlib.crc32(text.encode()) for n, text in zip(times, coded.dictionary.to_pylist(), strict=True))
    return total
