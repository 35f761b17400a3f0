"""Makes the time of Windows events of the times that their lines have.

NXLog writes local times without a zone. Where a shipper has added the time of arrival in UTC, the zone is the
difference between it and NXLog's own time of arrival; otherwise such a time is UTC.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.convert import Reasons, convert_texts
from watchfloor.ingest.mapping.field_mapper import RawColumns
from watchfloor.schema.field import FieldType

from .names import EVENT_TIME, RECEIVED_TIME, SHIPPED_TIME, TIME_FIELD

_QUARTER = 15 * 60 * 1_000_000
_FARTHEST = 14 * 4
"""The number of quarters of an hour by which the farthest zones differ from UTC."""
_NOTHING = pa.scalar(None, pa.string())
_HAS_ZONE = r"(?:Z|[+-]\d\d:?\d\d)$"


def make_times(raw: RawColumns, count: int) -> RawColumns:
    """Returns the column of the time of each event as text, null where a line has none, from the raw columns of times.

    NXLog's times that cannot be read are returned as a column too, under their name.
    """
    none = pa.nulls(count, pa.string())
    own, shipped = raw.get(TIME_FIELD, none), raw.get(SHIPPED_TIME, none)
    if EVENT_TIME not in raw:
        return {TIME_FIELD: pc.coalesce(own, shipped)}
    local = raw[EVENT_TIME]
    named = pc.if_else(pc.match_substring_regex(local, _HAS_ZONE), local, _NOTHING)
    moved = _add_zone(local, raw.get(RECEIVED_TIME, none), shipped)
    unread = pc.if_else(pc.or_(named.is_valid(), moved.is_valid()), _NOTHING, local)
    times = {TIME_FIELD: pc.coalesce(own, named, moved, shipped, local)}
    return times if unread.null_count == count else {**times, EVENT_TIME: unread}


def _add_zone(local: pa.StringArray, received: pa.StringArray, shipped: pa.StringArray) -> pa.StringArray:
    """Returns local times in UTC, as text; null where a text is no time."""
    event, near, far = (_read_micros(text) for text in (local, received, shipped))
    quarters = pc.round(pc.divide(pc.cast(pc.subtract(far, near), pa.float64()), _QUARTER))
    is_zone = pc.less_equal(pc.abs(quarters), _FARTHEST)
    quarters = pc.fill_null(pc.if_else(is_zone, quarters, 0.0), 0.0)
    micros = pc.add(event, pc.cast(pc.multiply(quarters, _QUARTER), pa.int64()))
    return micros.cast(pa.timestamp("us")).cast(pa.string())


def _read_micros(text: pa.StringArray) -> pa.Int64Array:
    """Returns times in microseconds; null for texts that are none."""
    faults: Reasons = {}
    return convert_texts("", FieldType.TIME, text, "iso8601", faults).cast(pa.int64())
