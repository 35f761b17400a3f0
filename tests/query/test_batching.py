"""Batch policies cover the range once, newest first, and end, whatever rows and seconds come back.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_strategies import BATCH_SETTINGS, DAY, EXPECTED_COUNTS, HOUR, SECOND, expect_matches

from watchfloor.query.batches.density import FIRST_PAGE, STREAMED_ROWS
from watchfloor.query.batches.distribution import MatchDistribution
from watchfloor.query.batches.policy import Batch, BatchRun
from watchfloor.query.batches.registry import POLICIES
from watchfloor.query.batches.sequence import FREE_BATCHES, make_sequence, suggest_first_width
from watchfloor.query.batches.settings import BatchSettings
from watchfloor.schema.errors import InternalError, UserError

FAR = 9_214_646_400 * SECOND

MICROS = st.integers(0, FAR)
RANGES = st.one_of(
    st.tuples(MICROS, MICROS).map(lambda pair: (min(pair), max(pair))),
    st.tuples(MICROS, st.integers(0, 5000)).map(lambda pair: (pair[0], pair[0] + pair[1])),
)
ANSWERS = st.lists(
    st.tuples(st.integers(0, 10**7), st.one_of(st.just(0.0), st.floats(0, 1e4)), st.none() | st.integers(0, 10**7)),
    min_size=1,
    max_size=50,
)


def run(
    policy_settings: BatchSettings,
    since: int,
    until: int,
    width: int | None,
    answers: Sequence[tuple[int, float] | tuple[int, float, int | None]],
    busy: list[tuple[int, int]] | None = None,
    most: int = 500,
    expected: MatchDistribution | None = None,
) -> list[Batch]:
    """The first ``most`` batches; the answers are given round and round."""
    sequence = make_sequence(policy_settings, busy, expected)
    batches: list[Batch] = []
    batch = sequence.first_batch(since, until, width)
    while batch is not None and len(batches) < most:
        batches.append(batch)
        rows, seconds, *wanted = answers[len(batches) % len(answers)]
        batch = sequence.next_batch(BatchRun(batch, rows, seconds), *wanted)
    return batches


@given(BATCH_SETTINGS, RANGES, st.none() | st.integers(-5, FAR), ANSWERS, st.none() | EXPECTED_COUNTS)
@settings(max_examples=250)
def test_batches_cover_the_range_once_newest_first(
    policy_settings: BatchSettings,
    span: tuple[int, int],
    width: int | None,
    answers: list[tuple[int, float, int | None]],
    counts: list[tuple[int, int, float]] | None,
) -> None:
    since, until = span
    expected = None if counts is None else expect_matches(counts, since, until)
    batches = run(policy_settings, since, until, width, answers, expected=expected)
    assert bool(batches) == (since < until)
    end = until
    for number, batch in enumerate(batches):
        assert batch.until == end
        assert since <= batch.since < batch.until
        assert batch.number == number
        assert batch.width >= min(policy_settings.min_width, end - since)
        end = batch.since
    if batches and len(batches) < 500:
        assert end == since


@given(
    BATCH_SETTINGS,
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=12),
    RANGES,
    ANSWERS,
    EXPECTED_COUNTS,
)
@settings(max_examples=250)
def test_empty_time_is_jumped_over_and_nothing_else(
    policy_settings: BatchSettings,
    drawn: list[tuple[int, int]],
    span: tuple[int, int],
    answers: list[tuple[int, float]],
    counts: list[tuple[int, int, float]],
) -> None:
    since, until = span
    unit = max(1, (until - since) // 50)
    busy = [(since + at * unit - unit, since + (at + length) * unit) for at, length in drawn]
    batches = run(policy_settings, since, until, None, answers, busy, expected=expect_matches(counts, since, until))
    ends = [(batch.since, batch.until) for batch in batches]
    for newer, older in pairwise(ends):
        assert older[1] <= newer[0]
    for low, high in ends:
        assert since <= low < high <= until
        assert any(lo < high <= hi for lo, hi in busy), "a batch ends where there are events"
    if len(batches) < 500:
        for lo, hi in busy:
            for moment in (lo, (lo + hi) // 2, hi - 1):
                inside = lo < hi and since <= moment < until
                if inside:
                    assert sum(low <= moment < high for low, high in ends) == 1


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("growth", [1.01, 1.5])
def test_every_policy_ends(policy: str, growth: float) -> None:
    narrow = BatchSettings(policy=policy, growth=growth, min_width=1, width=1, min_seconds=1e-9, max_seconds=1e-9)
    batches = run(narrow, 0, FAR, 1, [(10**13, 10.0)], most=10**6)
    assert len(batches) <= FREE_BATCHES + 2 + math.log(FAR) / math.log(growth)
    assert batches[-1].since == 0
    if policy != "none":
        assert batches[FREE_BATCHES - 1].width == 1


def test_each_policy_is_a_file_of_its_own() -> None:
    files = {policy.__module__ for policy in POLICIES.values()}
    assert len(files) == len(POLICIES) and set(POLICIES) == {"none", "fixed", "bisect", "llcysa", "density"}


def test_none_is_one_batch() -> None:
    assert run(BatchSettings(policy="none"), 5, 99, 3, [(0, 0.0)]) == [Batch(5, 99, 5, 0, 10.0)]


def test_fixed_batches_have_one_width() -> None:
    batches = run(BatchSettings(policy="fixed", width=DAY), 0, 10 * DAY + 7, 3, [(5, 100.0)])
    assert [batch.width for batch in batches] == [DAY] * 10 + [7]


@pytest.mark.parametrize(
    ("rows", "seconds", "factor"),
    [
        (15, 5.0, 1.0),  # k' = 1.5 · 10 = 15 rows are what the batch gave
        (5, 5.0, 3.0),
        (30, 5.0, 0.5),
        (0, 5.0, 1.5),  # no rows: grow by c
        (1, 5.0, 6.0),  # 15 times as wide would run 75 s: scaled back to 30 s
        (15, 60.0, 0.5),  # as wide again would run 60 s: scaled back to 30 s
        (30, 0.1, 10.0),  # half as wide would run 0.05 s: scaled up to 1 s
        (0, 0.01, 100.0),  # no rows and fast: scaled up to 1 s
        (0, 0.0, 1e6),  # a clock that saw no time pass: taken as 1 µs
    ],
)
def test_llcysa_follows_rows_and_seconds(rows: int, seconds: float, factor: float) -> None:
    sequence = make_sequence(BatchSettings(policy="llcysa"))
    first = sequence.first_batch(0, FAR, HOUR)
    assert first == Batch(FAR - HOUR, FAR, 0, 0, 10.0)
    second = sequence.next_batch(BatchRun(first, rows, seconds))
    assert second is not None
    assert second.target_rows == 15.0
    assert second.width == pytest.approx(HOUR * factor, abs=1)


@pytest.mark.parametrize(
    ("rows", "wanted", "factor"),
    [
        (3, 997, 100.0),  # 1.5 × 997 / 3 is more than the 100 that make it a second
        (380, 617, 1.5 * 617 / 380),
        (380, 0, 0.0),
        (0, 617, 100.0),  # nothing is known of how many more there are
        (380, None, 100.0),
    ],
)
def test_llcysa_is_no_wider_than_what_is_still_wanted(rows: int, wanted: int | None, factor: float) -> None:
    sequence = make_sequence(BatchSettings(policy="llcysa", min_width=1))
    first = sequence.first_batch(0, FAR, HOUR)
    assert first is not None
    second = sequence.next_batch(BatchRun(first, rows, 0.01), wanted)
    assert second is not None
    assert second.width == pytest.approx(HOUR * factor, abs=1)


def test_bisect_halves_and_doubles() -> None:
    sequence = make_sequence(BatchSettings(policy="bisect", first_rows=10))
    first = sequence.first_batch(0, 1024 * HOUR, 100 * HOUR)  # what should hold ten rows: an eighth would be more
    assert first is not None and first.width == 64 * HOUR
    for rows, factor in ((21, 0.5), (20, 1), (5, 1), (4, 2), (0, 2)):
        second = sequence.next_batch(BatchRun(first, rows, 1.0))
        assert second is not None and second.width == 64 * HOUR * factor


# Ten matches an hour by day, one an hour by night.
RHYTHM = MatchDistribution.from_counts((at * HOUR, (at + 1) * HOUR, 10.0 if at % 24 >= 12 else 1.0) for at in range(48))


@pytest.mark.parametrize(("rows", "hours"), [(10, 17), (125, 17), (130, 22)])
def test_density_begins_with_a_page(rows: float, hours: int) -> None:
    """125 rows: twelve hours of day and five of night."""
    policy_settings = BatchSettings(policy="density", first_rows=rows)
    first = make_sequence(policy_settings, expected=RHYTHM).first_batch(0, 2 * DAY)
    assert first is not None and first.width == hours * HOUR


@pytest.mark.parametrize(
    ("wanted", "hours"),
    [(1, 125), (100, 125), (101, 126.25), (1000, 1250), (1001, 125), (None, 125)],
)
def test_density_begins_with_all_that_is_wanted_if_that_is_a_few_pages(wanted: int | None, hours: float) -> None:
    hourly = MatchDistribution.from_counts([(0, 100_000 * HOUR, 100_000.0)])
    sequence = make_sequence(BatchSettings(first_rows=10), expected=hourly)
    first = sequence.first_batch(0, 100_000 * HOUR, rows_left=wanted)
    assert first is not None
    assert first.width / HOUR == pytest.approx(hours)


def test_density_follows_the_counts() -> None:
    sequence = make_sequence(BatchSettings(policy="density", first_rows=125), expected=RHYTHM)
    first = sequence.first_batch(0, 2 * DAY)
    assert first is not None and first.width == 17 * HOUR  # twelve hours of day and five of night
    second = sequence.next_batch(BatchRun(first, 125, 1.0))
    assert second is not None and second.width == 31 * HOUR  # there are no 187 rows more
    assert sequence.next_batch(BatchRun(second, 68, 1.0)) is None


@pytest.mark.parametrize(
    ("rows", "seconds", "wanted", "hours"),
    [
        (360, 0.01, 240, 300),  # all that is wanted and a quarter more, though it takes no second
        (175, 0.01, 120, 300),  # half of what was expected, with ten of before: twice as wide
        (360, 10.0, 10_000, 1080),  # no more than 30 s
        (0, 10.0, 240, 1080),  # nothing was found: as without a limit
        (360, 1.0, None, 540),  # k' = 1.5 · 360 rows
        (175, 1.0, None, 1080),
        (360, 0.1, None, 3600),  # a second at least
    ],
)
def test_density_reads_all_that_is_wanted(rows: int, seconds: float, wanted: int | None, hours: int) -> None:
    hourly = MatchDistribution.from_counts([(0, 100_000 * HOUR, 100_000.0)])
    sequence = make_sequence(BatchSettings(policy="density", first_rows=360), expected=hourly)
    first = sequence.first_batch(0, 100_000 * HOUR)
    assert first is not None and first.width == 360 * HOUR
    second = sequence.next_batch(BatchRun(first, rows, seconds), wanted)
    assert second is not None
    assert second.width / HOUR == pytest.approx(hours)


def test_open_ends_of_a_range_change_no_width() -> None:
    expected = MatchDistribution.from_counts([(99 * DAY, 100 * DAY, 3.0 * STREAMED_ROWS)], streams=True)
    sequence = make_sequence(BatchSettings(), [(0, FAR)], expected)
    first = sequence.first_batch(0, FAR)
    assert first is not None and first.until == FAR and first.since == 100 * DAY - 8 * HOUR
    second = sequence.next_batch(BatchRun(first, 0, 60.0))
    assert second is not None and second.width == 4 * HOUR  # what runs for 30 s, by the 8 h that had events
    last = sequence.next_batch(BatchRun(second, 0, 1.0))
    assert last is not None and last.since == 0  # not the last hours that are known, and then what is before them
    assert sequence.next_batch(BatchRun(last, 0, 1.0)) is None


@pytest.mark.parametrize(("rows", "wanted"), [(360, None), (0, None), (0, 240), (360, 240)])
def test_what_streams_is_read_on_in_one_piece(rows: int, wanted: int | None) -> None:
    hours = 10 * STREAMED_ROWS
    hourly = MatchDistribution.from_counts([(0, hours * HOUR, float(hours))], streams=True)
    sequence = make_sequence(BatchSettings(), expected=hourly)
    first = sequence.first_batch(0, hours * HOUR, rows_left=wanted)
    assert first is not None and first.width == STREAMED_ROWS * HOUR
    second = sequence.next_batch(BatchRun(first, rows, 10.0), wanted)
    assert second is not None and second.width == 3 * STREAMED_ROWS * HOUR  # 30 s of it
    assert sequence.next_batch(BatchRun(first, rows, 1.0), wanted) == Batch(0, first.since, 0, 1, 15.0)
    # Of fewer it is known at once that they are all.
    fewer = (STREAMED_ROWS - 1) * HOUR
    assert sequence.first_batch(0, fewer, rows_left=wanted) == Batch(0, fewer, 0, 0, 10.0)


def test_the_first_page_of_all_rows_of_a_dense_filter_is_a_batch_of_its_own() -> None:
    hours = 10 * STREAMED_ROWS
    spans = np.arange(hours, dtype=np.int64) * HOUR
    dense = MatchDistribution.from_arrays(spans, spans + HOUR, np.ones(hours), streams=True, dense=True)
    sequence = make_sequence(BatchSettings(), expected=dense)
    first = sequence.first_batch(0, hours * HOUR)
    assert first is not None and first.width == FIRST_PAGE * HOUR
    second = sequence.next_batch(BatchRun(first, 125, 0.01))
    assert second is not None and second.width == 3000 * first.width  # 30 s of it
    limited = sequence.first_batch(0, hours * HOUR, rows_left=1000)
    assert limited is not None and limited.width == STREAMED_ROWS * HOUR


@given(EXPECTED_COUNTS, st.integers(-100, 2000), st.integers(-100, 2000), st.floats(0, 1e7))
def test_expected_matches_go_back_to_the_time_that_has_them(
    counts: list[tuple[int, int, float]], since: int, until: int, rows: float
) -> None:
    expected = expect_matches(counts, 0, 1000)
    total = sum(count for *_, count in counts)
    assert expected.count_rows(-1000, 100_000) == pytest.approx(total)
    assert expected.count_rows(since, until) == pytest.approx(
        sum(expected.count_rows(at, at + 1) for at in range(since, until)), rel=1e-6, abs=1e-3
    )
    back = expected.find_start(until, rows)
    if back is None:
        assert expected.count_rows(-1000, until) < rows + 1e-6 * total
    else:
        assert back <= until
        assert expected.count_rows(back, until) >= rows - 1e-6 * (total + 1)
        # The latest such time: a microsecond later there are fewer.
        assert expected.count_rows(back + 1, until) <= rows + 1e-6 * (total + 1)


def test_width_stays_above_the_least() -> None:
    sequence = make_sequence(BatchSettings(min_width=SECOND))
    first = sequence.first_batch(0, DAY, 1)
    assert first is not None and first.width == SECOND
    second = sequence.next_batch(BatchRun(first, 10**6, 29.0))
    assert second is not None and second.width == SECOND


def test_llcysa_reads_a_steady_stream_in_few_batches() -> None:
    # A million events in a day, read at 150,000 events/s: 6.7 s in all, so about seven batches of a second.
    policy_settings = BatchSettings(policy="llcysa")
    sequence = make_sequence(policy_settings)
    batch = sequence.first_batch(0, DAY, suggest_first_width(1e6, 0, DAY, policy_settings))
    assert batch is not None and batch.width * 1e6 / DAY == pytest.approx(10, rel=0.01)
    count = 0
    while batch is not None:
        rows = batch.width * 10**6 // DAY
        batch, count = sequence.next_batch(BatchRun(batch, rows, 0.003 + rows / 150_000)), count + 1
    assert count <= 10


def test_empty_time_is_not_read_at_all() -> None:
    busy = [(90 * DAY, 91 * DAY), (10 * DAY, 11 * DAY), (11 * DAY, 12 * DAY), (5 * DAY, 5 * DAY)]
    policy_settings = BatchSettings(policy="fixed", width=DAY)
    batches = run(policy_settings, 0, 100 * DAY, None, [(0, 0.0)], busy)
    assert [(b.since // DAY, b.until // DAY) for b in batches] == [(90, 91), (11, 12), (10, 11)]
    assert run(policy_settings, 0, 100 * DAY, None, [(0, 0.0)], []) == []
    assert run(policy_settings, 95 * DAY, 100 * DAY, None, [(0, 0.0)], busy) == []


def test_first_width() -> None:
    policy_settings = BatchSettings(first_rows=10)
    assert suggest_first_width(1000, 0, DAY, policy_settings) == DAY // 100
    assert suggest_first_width(10, 0, DAY, policy_settings) == DAY
    assert suggest_first_width(0, 0, DAY, policy_settings) == DAY
    assert suggest_first_width(1e18, 0, DAY, policy_settings) == policy_settings.min_width
    assert suggest_first_width(1e18, 0, 500, policy_settings) == 500
    assert suggest_first_width(5, 7, 7, policy_settings) == 1
    assert suggest_first_width(1000, 0, 100 * DAY, policy_settings, [(0, DAY), (50 * DAY, 51 * DAY)]) == 2 * DAY // 100
    assert suggest_first_width(1000, 0, DAY // 2, policy_settings, [(0, DAY)]) == DAY // 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("policy", "best"),
        ("growth", 1.0),
        ("growth", math.nan),
        ("min_width", 0),
        ("min_seconds", 0.0),
        ("min_seconds", 31.0),
        ("max_seconds", math.inf),
        ("max_seconds", math.nan),
        ("first_rows", 0.5),
        ("width", 0),
    ],
)
def test_settings_that_could_not_work(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f"batching: {'min_seconds|max_seconds' if 'seconds' in name else name} = "):
        BatchSettings(**{name: value})  # type: ignore[arg-type]


def test_impossible_answers_are_our_own_mistake() -> None:
    sequence = make_sequence(BatchSettings())
    first = sequence.first_batch(0, DAY)
    assert first is not None
    for rows, seconds in ((-1, 0.0), (1, -1.0), (1, math.nan)):
        with pytest.raises(InternalError):
            sequence.next_batch(BatchRun(first, rows, seconds))
