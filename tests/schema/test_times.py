"""Points in time are read as people write them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.schema.errors import TimeRangeError
from watchfloor.schema.times import END_OF_TIME, from_micros, parse_time, to_micros

NOW = 1_456_833_600_000_000  # 2016-03-01T12:00:00Z
HOUR = 3_600_000_000

TIMES = [
    ("now", NOW),
    ("NOW", NOW),
    ("-4h", NOW - 4 * HOUR),
    ("now-1d12h", NOW - 36 * HOUR),
    ("+90m", NOW + HOUR * 3 // 2),
    ("-1w", NOW - 7 * 24 * HOUR),
    ("-5ms", NOW - 5_000),
    ("-7us", NOW - 7),
    ("2016-03-01T12:00:00Z", NOW),
    ("2016-03-01T12:00:00", NOW),
    ("2016-03-01t12:00z", NOW),
    ("2016-03-01 13:00:00+01:00", NOW),
    ("2016-03-01T07:00:00.000001-0500", NOW + 1),
    ("2016-03-01T12:00:00.0000019Z", NOW + 1),
    ("2016-03-01", NOW - 12 * HOUR),
    ("1456833600", NOW),
    ("1456833600.000001", NOW + 1),
    ("1456833600.0000019", NOW + 1),
    ("0", 0),
    ("12.0", 12_000_000),
    ("-1.0", -1_000_000),
    ("2262-01-01", END_OF_TIME),
    ("1969-12-31T23:59:59.999999Z", -1),
    (" 1456833600 ", NOW),
]


@pytest.mark.parametrize(("text", "micros"), TIMES)
def test_times(text: str, micros: int) -> None:
    assert parse_time(text, NOW) == micros


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no time; write it as"),
        ("tomorrow", "is no time"),
        ("-4x", "is no time"),
        ("2016-13-01", "is no time"),
        ("2016-03-01T25:00", "is no time"),
        ("2016", "ambiguous"),
        ("20160301", "ambiguous"),
        ("1456833600000", "epoch times are seconds, not milliseconds"),
        ("-999999999999w", "outside the years"),
        ("0001-01-01T00:00:00+23:59", "outside the years"),
        ("١٤٥٦٨٣٣٦٠٠", "is no time"),
        ("nan", "is no time"),
    ],
)
def test_bad_times(text: str, message: str) -> None:
    with pytest.raises(TimeRangeError, match=message):
        parse_time(text, NOW)


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_exact(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment
    assert parse_time(moment.isoformat(), NOW) == to_micros(moment)
    assert to_micros(moment + timedelta(microseconds=1)) - to_micros(moment) == 1 if moment.year < 9999 else True
