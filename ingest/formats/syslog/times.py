"""The times of syslog lines. Those of RFC 3164 have no year and no zone, Cisco's may have a year.

The rule: a time without a year lies in the latest year in which it is no more than a day after the file's last change.
So a file that reaches over New Year has both years right, as has one that was written a year ago and not touched since.
A time without a zone is of the zone that the header names.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.convert import Reasons, convert_texts
from watchfloor.ingest.columns.fixed_time import parse_fixed
from watchfloor.ingest.columns.scalars import unfit_reason
from watchfloor.schema.field import ARROW_TYPES, FieldType

_DAY = 86_400_000_000
_LEAP_YEAR = 2000
_DATED = r"^[A-Z][a-z]{2} [ \d]\d \d{4} "
_NOTHING = pa.scalar(None, pa.string())
_Micros = npt.NDArray[np.int64]


def read_times(name: str, text: pa.StringArray, changed: int, zone: str, reasons: Reasons) -> pa.Array:
    """Returns the times of lines as a column; a text that is no time gives its row a reason.

    ``changed`` is the last change of the file, in µs since 1970 UTC, ``zone`` a name of the IANA database.
    """
    is_old = pc.match_substring_regex(text, "^[A-Z]").fill_null(False)
    is_dated = pc.match_substring_regex(text, _DATED).fill_null(False)
    times = convert_texts(name, FieldType.TIME, pc.if_else(is_old, _NOTHING, text), "iso8601", reasons)
    if pc.any(is_dated).as_py():
        dated = pc.replace_substring(pc.if_else(is_dated, text, _NOTHING), "  ", " 0")
        times = pc.coalesce(times, convert_texts(name, FieldType.TIME, dated, "%b %d %Y %H:%M:%S", reasons))
        is_old = pc.and_(is_old, pc.invert(is_dated))
    old = np.flatnonzero(is_old.to_numpy(zero_copy_only=False))
    if not len(old):
        return times
    micros = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).copy()
    known = times.is_valid().to_numpy(zero_copy_only=False).copy()
    found = _read_yearless(text.take(pa.array(old)), changed, zone)
    micros[old], known[old] = found, found != -1
    for row in old[found == -1].tolist():
        reasons.setdefault(row, unfit_reason(name, text[row].as_py(), "a time like Oct 10 13:55:36"))
    return pa.array(micros, pa.int64(), mask=~known).cast(ARROW_TYPES[FieldType.TIME])


def _read_yearless(text: pa.StringArray, changed: int, zone: str) -> _Micros:
    """Returns the µs since 1970 UTC of texts like ``Oct 10 13:55:36``; -1 for those that are no time."""
    padded = pc.binary_join_element_wise(str(_LEAP_YEAR), pc.replace_substring(text, "  ", " 0"), " ")
    pattern = "%Y %b %d %H:%M:%S"
    within = parse_fixed(padded, pattern)
    if within is None:  # a text among them is no time
        each = [parse_fixed(padded.slice(row, 1), pattern) for row in range(len(padded))]
        within = np.array([-1 if one is None else one[0] for one in each], np.int64)
    good = within >= 0
    days = (within // _DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    month = months.astype(np.int64) % 12
    day = (days - months.astype("datetime64[D]")).astype(np.int64)
    clock = within % _DAY
    last_year = datetime.fromtimestamp((changed + _DAY) / 1e6, UTC).year + 1
    found = np.full(len(within), -1, np.int64)
    for year in range(last_year, last_year - 10, -1):
        wanted = good & (found == -1)
        if not wanted.any():
            break
        first = (month + 12 * (year - 1970)).astype("datetime64[M]")
        begins = first.astype("datetime64[D]").astype(np.int64)
        exists = begins + day < (first + 1).astype("datetime64[D]").astype(np.int64)
        micros = _to_utc((begins + day) * _DAY + clock, zone)
        fits = wanted & exists & (micros <= changed + _DAY)
        found[fits] = micros[fits]
    return found


def _to_utc(local: _Micros, zone: str) -> _Micros:
    """Returns the µs since 1970 UTC of local times. Of an hour that comes twice it is the first."""
    if zone == "UTC":
        return local
    info = ZoneInfo(zone)
    hours, places = np.unique(local // 3_600_000_000, return_inverse=True)
    offsets = [datetime.fromtimestamp(hour * 3600, UTC).replace(tzinfo=info).utcoffset() for hour in hours.tolist()]
    micros = np.array(
        [0 if offset is None else int(offset.total_seconds()) * 1_000_000 for offset in offsets], np.int64
    )
    return local - micros[places]
