"""Things made in a thread ahead of their taker."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from watchfloor.ingest.ahead import ahead
from watchfloor.ingest.queue import _stride


def test_all_things_come_in_order() -> None:
    with ahead(iter(range(100)), 2) as things:
        assert list(things) == list(range(100))


def test_an_error_comes_where_its_thing_would() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise ValueError("bad")

    with ahead(source(), 2) as things:
        assert next(things) == 1
        with pytest.raises(ValueError, match="bad"):
            next(things)


def test_it_is_not_far_ahead_and_stops_when_left() -> None:
    made = 0

    def source() -> Iterator[int]:
        nonlocal made
        while True:
            made += 1
            yield made

    before = threading.active_count()
    with ahead(source(), 1) as things:
        assert next(things) == 1
        time.sleep(0.3)
        assert made <= 3
    assert threading.active_count() == before


@pytest.mark.parametrize("partitions", range(1, 70))
def test_items_reach_all_partitions(partitions: int) -> None:
    assert len({i * _stride(partitions) % partitions for i in range(partitions)}) == partitions
