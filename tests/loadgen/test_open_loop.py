"""Open-loop requests are due by a schedule, and their waiting time counts.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import time

import pytest

from watchfloor.loadgen.harness.open_loop import run_open, schedule_poisson


def test_arrivals_are_ascending_of_the_rate_and_the_same_for_a_seed() -> None:
    due = schedule_poisson(200, 50, seed=3)
    assert due == sorted(due) == schedule_poisson(200, 50, seed=3) != schedule_poisson(200, 50, seed=4)
    assert due[0] > 0 and due[-1] < 50
    # 10,000 are expected, with a standard deviation of 100.
    assert 9_500 < len(due) < 10_500


def test_a_stall_is_in_the_latency_of_all_that_were_due_meanwhile() -> None:
    stalled = 0.6

    def request(number: int) -> None:
        if number == 5:
            time.sleep(stalled)

    responses = run_open([n / 100 for n in range(100)], request, clients=1)
    assert len(responses) == 100 and all(r.due <= r.made <= r.ended for r in responses)
    # One request was slow by itself; those due in the stall waited for its end.
    assert sum(r.service > stalled / 2 for r in responses) == 1
    assert sum(r.latency > stalled / 4 for r in responses) > 30


def test_requests_overlap_while_clients_are_free() -> None:
    responses = run_open([0.0] * 8, lambda number: time.sleep(0.2), clients=8)
    assert max(r.made for r in responses) < min(r.ended for r in responses)


def test_a_failure_ends_the_run() -> None:
    asked = []

    def request(number: int) -> None:
        asked.append(number)
        if number == 2:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_open([0, 0, 0, 30, 30], request, clients=1)
    assert asked == [0, 1, 2]
