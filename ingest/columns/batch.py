"""Makes events of typed columns: the record batch that the store takes, and the rejected lines with their reasons."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from watchfloor.ingest.files.lines import RejectedLine
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME
from watchfloor.store.encoding.keys import OFFSET_COLUMN

from .convert import Reasons
from .leftovers import Leftovers, Misfits
from .rows import Rows


def event_batch(
    source: Source, columns: Mapping[str, pa.Array], rows: Rows, leftovers: Leftovers
) -> tuple[pa.RecordBatch, list[RejectedLine], list[Misfits]]:
    """Returns the events of ``rows``, the rejected lines among them, and the values that the events lack.

    ``columns`` has an array of ``len(rows)`` values for each field that occurs, of the field's Arrow type; absent
    fields are null. A row is rejected if ``leftovers`` has a reason for it, if it has no event time, or if its event
    time is outside [1970-01-01, 2262-01-01).
    """
    reasons = leftovers.reasons
    columns = leftovers.add_extra(columns, len(rows))
    _check_time(source.time_field, columns.get(source.time_field), len(rows), reasons)
    schema = source.arrow_schema.append(pa.field(OFFSET_COLUMN, pa.int64()))
    arrays = [
        columns[field.name] if field.name in columns else pa.nulls(len(rows), field.type)
        for field in source.arrow_schema
    ]
    batch = pa.RecordBatch.from_arrays([*arrays, pa.array(rows.offsets, pa.int64())], schema=schema)
    if not reasons:
        return batch, [], leftovers.list_misfits(rows)
    keep = np.ones(len(rows), bool)
    keep[list(reasons)] = False
    rejected = [rows.reject_line(row, reasons[row]) for row in sorted(reasons)]
    return batch.filter(pa.array(keep)), rejected, leftovers.list_misfits(rows)


def _check_time(name: str, times: pa.Array | None, count: int, reasons: Reasons) -> None:
    """Adds a reason for each row whose event time is missing or out of range."""
    if times is None:
        for row in range(count):
            reasons.setdefault(row, f"field {name}: missing; an event needs its time")
        return
    micros = times.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    outside = np.flatnonzero((micros < 0) | (micros >= END_OF_TIME))
    if not len(outside):
        return
    for row in outside.tolist():
        if not times[row].is_valid:
            reasons.setdefault(row, f"field {name}: missing; an event needs its time")
        else:
            when = str(times[row].as_py())
            reasons.setdefault(row, f"field {name}: {when} is outside 1970-01-01 to 2262-01-01")
