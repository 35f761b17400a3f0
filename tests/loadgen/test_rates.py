"""Rates of ingest runs follow from what is durable when: the steady state, and the point of saturation.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import fmean, pvariance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.loadgen.harness.ingest.rates import (
    STEP,
    DurableItem,
    TimeWindow,
    compute_series,
    count_megabytes,
    find_busy_window,
    find_saturation,
)
from watchfloor.loadgen.harness.measurement.figure import STATISTICS
from watchfloor.schema.errors import UserError

NOW = 1_800_000_000.0


def item(client: str, begun: float, ended: float, events: int = 1000) -> DurableItem:
    return DurableItem(client, NOW + begun, NOW + ended, events, events * 480)


def test_the_steady_state_is_while_all_clients_work_without_its_beginning() -> None:
    items = [item("a", n, n + 1) for n in range(20)] + [item("b", 3 + n, 4 + n) for n in range(10)]
    window = find_busy_window(items)
    assert (window.since, window.until) == (NOW + 4, NOW + 13)
    assert window.drop_settling() == TimeWindow(NOW + 4 + 0.2 * 9, NOW + 13)


def test_an_items_events_are_spread_over_its_time() -> None:
    items = [item("a", 0, 2, events=1000), item("b", 1, 2, events=300), item("a", 2, 2, events=50)]
    found = compute_series(items, TimeWindow(NOW, NOW + 2.4))
    assert [at - NOW for at in found.at] == [0.25, 0.75, 1.25, 1.75]
    assert found.per_second == pytest.approx((500, 500, 800, 800), rel=1e-4)


def test_megabytes_are_counted_as_events_are() -> None:
    items = [item("a", 0, 4, events=8000)]
    assert compute_series(items, TimeWindow(NOW, NOW + 4), count_megabytes).mean == pytest.approx(8000 * 480 / 4e6)


@given(st.lists(st.tuples(st.integers(0, 9_900), st.integers(0, 5_000), st.integers(0, 10**6)), min_size=1))
def test_nothing_is_lost_and_nothing_counts_twice(times: list[tuple[int, int, int]]) -> None:
    items = [item("a", begun / 1000, (begun + took) / 1000, events) for begun, took, events in times]
    found = compute_series(items, TimeWindow(NOW - 1, NOW + 16))
    assert sum(found.per_second) * STEP == pytest.approx(sum(done.events for done in items), rel=1e-4, abs=1e-3)


def test_a_stall_of_the_servers_is_in_the_variation_and_not_in_that_of_an_even_run() -> None:
    rng = random.Random(3)
    even = [item("a", n * 0.2, n * 0.2 + 0.2, 1000 + rng.randrange(-20, 20)) for n in range(100)]
    # At 10 s an item takes 3 s longer; all that follow are later for it.
    stalled = [
        replace(d, ended=d.ended + 3 * (d.ended > NOW + 10), begun=d.begun + 3 * (d.begun > NOW + 10)) for d in even
    ]
    variation, variance = STATISTICS["coefficient of variation"], STATISTICS["variance"]
    smooth, rough = (compute_series(items, TimeWindow(NOW, NOW + 20)).per_second for items in (even, stalled))
    assert variation(smooth) < 0.05 < 0.2 < variation(rough)
    assert variance(rough) == pvariance(rough) > variance(smooth)
    assert variation(rough) ** 2 == pytest.approx(variance(rough) / fmean(rough) ** 2)


def test_a_run_that_is_too_short_is_refused_with_the_remedy() -> None:
    with pytest.raises(UserError, match=r"1\.4 s .* --seconds"):
        compute_series([item("a", 0, 1)], TimeWindow(NOW, NOW + 1.4))


@pytest.mark.parametrize(
    ("rates", "clients"),
    [
        ({1: 100.0}, 1),
        ({1: 100.0, 2: 190.0, 4: 380.0}, 4),
        ({1: 100.0, 2: 190.0, 4: 200.0}, 2),
        ({1: 100.0, 2: 109.0, 4: 60.0}, 1),
        # A dip that more clients make good is no saturation.
        ({1: 100.0, 2: 90.0, 4: 150.0}, 4),
        ({4: 200.0, 1: 100.0, 2: 180.0}, 4),
    ],
)
def test_saturation_is_where_no_more_clients_bring_a_tenth_more(rates: dict[int, float], clients: int) -> None:
    assert find_saturation(rates) == clients
