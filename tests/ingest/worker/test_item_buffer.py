"""A worker's item buffer holds items of the queue and commits only as far as they are done.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watchfloor.ingest.queue.item_buffer import Delivery, ItemBuffer


def delivery(partition: int, offset: int) -> Delivery:
    return Delivery(None, partition, offset)


def test_items_come_in_order_and_deferred_ones_when_due() -> None:
    inbox = ItemBuffer()
    for offset in range(3):
        inbox.add_delivery(delivery(0, offset))
    inbox.add_delivery(delivery(0, 1))
    first = inbox.take_next(0)
    assert first == delivery(0, 0)
    inbox.defer(first, 5)
    assert inbox.next_due == 5
    assert inbox.take_next(1) == delivery(0, 1)
    assert inbox.mark_done(delivery(0, 1)) == 0
    assert inbox.take_next(5) == first
    assert inbox.mark_done(first) == 2
    assert inbox.take_next(5) == delivery(0, 2)
    assert inbox.mark_done(delivery(0, 2)) == 3
    assert inbox.take_next(9) is None


def test_what_moved_away_is_forgotten_and_may_come_back() -> None:
    inbox = ItemBuffer()
    for partition in (0, 1):
        for offset in (7, 8):
            inbox.add_delivery(delivery(partition, offset))
    held = inbox.take_next(0)
    assert held == delivery(0, 7)
    inbox.keep_partitions({1})
    inbox.defer(held, 1)
    assert [inbox.take_next(9), inbox.take_next(9), inbox.take_next(9)] == [delivery(1, 7), delivery(1, 8), None]
    inbox.add_delivery(delivery(0, 7))
    assert inbox.take_next(9) == delivery(0, 7)
    assert inbox.mark_done(held) == 8


def test_offsets_of_a_topic_that_was_made_anew_are_other_offsets() -> None:
    inbox = ItemBuffer()
    old, new = Delivery(None, 0, 1, raw=b"old"), Delivery(None, 0, 1, raw=b"new")
    inbox.add_delivery(old)
    inbox.add_delivery(delivery(1, 5))
    assert inbox.take_next(0) == old
    inbox.add_delivery(new)
    inbox.defer(old, 0)
    assert [inbox.take_next(9), inbox.take_next(9), inbox.take_next(9)] == [delivery(1, 5), new, None]
    assert inbox.mark_done(old) == 1, "the new message is not done"
    assert inbox.mark_done(new) == 2


@given(st.data())
def test_nothing_that_is_not_done_is_ever_committed(data: st.DataObject) -> None:
    inbox, clock, done, put = ItemBuffer(), 0.0, {0: set(), 1: set()}, [0, 0]
    for _ in range(data.draw(st.integers(0, 40))):
        clock += 1
        partition = data.draw(st.integers(0, 1))
        if data.draw(st.booleans()):
            inbox.add_delivery(delivery(partition, put[partition]))
            put[partition] += 1
        elif (found := inbox.take_next(clock)) is not None:
            if data.draw(st.booleans()):
                inbox.defer(found, clock + data.draw(st.integers(0, 3)))
            else:
                done[found.partition].add(found.offset)
                offset = inbox.mark_done(found)
                assert set(range(offset)) <= done[found.partition]
                assert offset not in done[found.partition]
