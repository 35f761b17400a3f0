"""Times of fixed widths: what the arithmetic takes, `strptime` takes too, with the same result.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.ingest.columns.fixed_time import parse_fixed
from watchfloor.ingest.columns.scalars import Unfit, strptime_parser

PATTERNS = [
    "%Y-%m-%d %H:%M:%S",
    "%d/%b/%Y:%H:%M:%S %z",
    "%Y/%m/%d %H:%M:%S.%f",
    "%b %d %Y %H:%M:%S",
    "%Y%m%d%H%M%S",
    "%Y-%m-%dT%H:%M:%S.%f%z",
]
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=ZONES | st.just(UTC))


@pytest.mark.parametrize("pattern", PATTERNS)
@given(moments=st.lists(MOMENTS, min_size=1, max_size=4))
def test_times_are_those_of_strptime(pattern: str, moments: list[datetime]) -> None:
    # The year has four digits in logs, but not from every strftime.
    texts = [moment.strftime(pattern.replace("%Y", f"{moment.year:04}")) for moment in moments]
    found = parse_fixed(pa.array(texts), pattern)
    assert found is not None and found.tolist() == list(map(strptime_parser(pattern), texts))


@pytest.mark.parametrize("pattern", PATTERNS)
@given(moment=MOMENTS, place=st.integers(0, 40), text=st.sampled_from(["9", "6", "x", " ", "-", "", "Fe", "\u0663"]))
def test_a_damaged_time_is_not_taken_as_another(pattern: str, moment: datetime, place: int, text: str) -> None:
    whole = moment.strftime(pattern.replace("%Y", f"{moment.year:04}"))
    damaged = whole[:place] + text + whole[place + 1 :]
    found = parse_fixed(pa.array([damaged]), pattern)
    try:
        expected = strptime_parser(pattern)(damaged)
    except Unfit:
        assert found is None or not 0 <= found[0] < 253_370_764_800_000_000
    else:
        assert found is None or found.tolist() == [expected]


def test_other_patterns_and_columns_are_left_to_strptime() -> None:
    assert parse_fixed(pa.array(["12.03.24 1:02:03"]), "%d.%m.%y %H:%M:%S") is None
    assert parse_fixed(pa.array(["2024-03-12"]), "%Y-%m-%d") is None
    assert parse_fixed(pa.array(["2024-03-12 10:00:00", None]), PATTERNS[0]) is None
    assert parse_fixed(pa.array(["2024-03-12 10:00:00", "2024-3-12 10:00:00"]), PATTERNS[0]) is None
    assert parse_fixed(pa.array([], pa.string()), PATTERNS[0]) is None
