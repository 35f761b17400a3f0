"""The years of times without one, as Snort's: the latest in which they are no more than a day after the file's change.

It is the rule of syslog, for times that begin with month and day.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

_YEARLESS = r"^\d\d/\d\d-\d\d:"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAMED = rf"^(?:{'|'.join(_MONTHS)}) [ \d]\d \d\d:"


def add_years(text: pa.StringArray, changed: int) -> pa.StringArray:
    """Returns a column in which times like ``03/05-08:00:01.5`` are ``2024/03/05-08:00:01.5``; other texts stay.

    ``Mar  5 08:00:01.5`` becomes the same.
    ``changed`` is the last change of the file, in µs since 1970 UTC.
    """
    text = _number_months(text)
    yearless = pc.match_substring_regex(text, _YEARLESS).fill_null(False)
    if not pc.any(yearless).as_py():
        return text
    latest = datetime.fromtimestamp(changed / 1e6, UTC) + timedelta(days=1)
    is_before = pc.less_equal(text, f"{latest:%m/%d-%H:%M:%S.%f}")  # digits of fixed widths sort as times do
    dated = [pc.binary_join_element_wise(str(year), text, "/") for year in (latest.year, latest.year - 1)]
    return pc.if_else(yearless, pc.if_else(is_before, *dated), text)


def _number_months(text: pa.StringArray) -> pa.StringArray:
    """Returns a column in which times that begin with a month's name and a day have both in digits."""
    if not pc.any(pc.match_substring_regex(text, _NAMED)).as_py():
        return text
    text = pc.replace_substring_regex(text, r"^([A-Z][a-z]{2})  (\d \d\d:)", r"\1 0\2")
    for number, name in enumerate(_MONTHS, 1):
        text = pc.replace_substring_regex(text, rf"^{name} (\d\d) (\d\d:)", rf"{number:02}/\1-\2")
    return text
