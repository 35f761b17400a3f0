"""Keeps what lines hold beside the values of their fields: unknown names, and values that are not of a field's type.

A source with ``"unknown_fields": "extra"`` keeps both, as JSON under their names, in the field ``extra`` of their
events. There only the time, and fields that the definition marks as required, reject a line by their value; in other
sources every value that does not fit does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.source import Source
from watchfloor.schema.text import shorten_value

from .convert import Reasons
from .json_text import write_json
from .rows import Positions, Rows
from .scalars import Unfit


@dataclass(frozen=True)
class Misfits:
    """Events of ``source`` without ``field``, whose value is not of the field's type and is kept in ``extra``.

    ``offsets`` are those of their lines in the file.
    """

    source: str
    field: str
    offsets: Positions


class Leftovers:
    """The values that lines of one source hold beside their fields. ``reasons`` has the lines that become no event."""

    def __init__(self, source: Source) -> None:
        rules = source.parser.get("fields", {})
        self._source = source
        self._required = {source.time_field, *(name for name, rule in rules.items() if rule.get("required"))}
        self._kept: dict[int, dict[str, Any]] = defaultdict(dict)
        self._misfits: dict[str, list[int]] = {}
        self.keeps_unknown = source.unknown_fields == "extra"
        self.reasons: Reasons = {}

    def add_misfits(self, name: str, faults: Reasons, values: pa.Array | Sequence[Any]) -> None:
        """Keeps those of a field's ``values`` that do not fit, by the reasons in ``faults``, or rejects their rows.

        The field's column has no value in their place; of a list it has the elements that fit.
        """
        if not self.keeps_unknown or name in self._required:
            for row, reason in faults.items():
                self.reasons.setdefault(row, reason)
            return
        for row in faults:
            value = values[row]
            self._kept[row][name] = value.as_py() if isinstance(value, pa.Scalar) else value
        if faults:
            self._misfits.setdefault(name, []).extend(faults)

    def add_unknown(self, row: int, name: str, value: Any) -> None:
        """Keeps the value of a name that the source lacks, or rejects its row."""
        if self.keeps_unknown:
            self._kept[row].setdefault(name, value)
        else:
            shown = f"{self._source.name} has no such field (its value is {shorten_value(value)})"
            self.reasons.setdefault(row, f"field {name[:60]}: {shown}")

    def add_all_unknown(self, row: int, values: Mapping[str, Any]) -> None:
        """Keeps the values of names that the source lacks, or rejects their row."""
        if self.keeps_unknown and row not in self._kept:
            if values:
                self._kept[row] = dict(values)
            return
        for name, value in values.items():
            self.add_unknown(row, name, value)

    def add_extra(self, columns: Mapping[str, pa.Array], count: int) -> dict[str, pa.Array]:
        """Returns the columns of ``count`` rows with what is kept. Rejects rows whose values no text can hold."""
        if not self._kept:
            return dict(columns)
        texts: list[str | None] = [None] * count
        if EXTRA_FIELD in columns:  # a column of the log that happens to have this name
            texts = columns[EXTRA_FIELD].to_pylist()
        for row, values in self._kept.items():
            try:
                texts[row] = write_json(values if texts[row] is None else {EXTRA_FIELD: texts[row], **values})
            except Unfit as error:
                self.reasons.setdefault(row, str(error))
        return {**columns, EXTRA_FIELD: pa.array(texts, pa.string())}

    def list_misfits(self, rows: Rows) -> list[Misfits]:
        """Returns the kept misfits of rows that are not rejected; to be asked when all rejected rows are known."""
        found = []
        for name, places in self._misfits.items():
            kept = [row for row in places if row not in self.reasons]
            if kept:
                found.append(Misfits(self._source.name, name, rows.offsets[np.array(sorted(kept), np.int64)]))
        return found
