"""Holds the items that one worker has received and not done.

It decides which item is next and which offsets may be committed.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import dataclass

from .item import WorkItem


@dataclass(frozen=True)
class Delivery:
    """A message as it came from the queue: ``item`` is None if it carries none, and ``problem`` says why.

    ``raw`` are its bytes.
    """

    item: WorkItem | None
    partition: int
    offset: int
    problem: str = ""
    raw: bytes = b""


class ItemBuffer:
    """Holds the items of one consumer until they are done. Times are monotonic seconds.

    Offsets are committed per partition, and a committed offset says that all offsets before it are done. So the offset
    that may be committed is the first that is still held.
    """

    def __init__(self) -> None:
        self._ready: deque[Delivery] = deque()
        self._deferred: list[tuple[float, Delivery]] = []
        self._held: dict[int, dict[int, bytes]] = defaultdict(dict)
        self._next_offsets: dict[int, int] = {}

    def add_delivery(self, delivery: Delivery) -> None:
        """Adds a delivery unless it is held already; after a rebalance it may come again."""
        held = self._held[delivery.partition]
        if held.get(delivery.offset) == delivery.raw:
            return
        if delivery.offset in held:
            # The topic was made anew: what is held is of the old one, and its offsets mean nothing any more.
            self._forget_partition(delivery.partition)
            held = self._held[delivery.partition]
        held[delivery.offset] = delivery.raw
        self._next_offsets[delivery.partition] = max(delivery.offset + 1, self._next_offsets.get(delivery.partition, 0))
        self._ready.append(delivery)

    def take_next(self, now: float) -> Delivery | None:
        """Returns the next item: one that was deferred until now, or the oldest."""
        for entry in self._deferred:
            if entry[0] <= now:
                self._deferred.remove(entry)
                return entry[1]
        return self._ready.popleft() if self._ready else None

    @property
    def next_due(self) -> float:
        """The time at which the next deferred item is due; infinity if there is none."""
        return min((due for due, _ in self._deferred), default=math.inf)

    def defer(self, delivery: Delivery, until: float) -> None:
        """Makes an item wait until a time; drops it if its partition has moved."""
        if self._held[delivery.partition].get(delivery.offset) == delivery.raw:
            self._deferred.append((until, delivery))

    def mark_done(self, delivery: Delivery) -> int:
        """Returns the offset that may be committed now that the item is done: all before it are."""
        held = self._held[delivery.partition]
        if held.get(delivery.offset) == delivery.raw:
            del held[delivery.offset]
        return min(held, default=max(self._next_offsets.get(delivery.partition, 0), delivery.offset + 1))

    def keep_partitions(self, partitions: set[int]) -> None:
        """Forgets the items of all other partitions: other consumers own those now and get their items."""
        for partition in [partition for partition in self._held if partition not in partitions]:
            self._forget_partition(partition)

    def _forget_partition(self, partition: int) -> None:
        del self._held[partition]
        self._next_offsets.pop(partition, None)
        self._ready = deque(d for d in self._ready if d.partition != partition)
        self._deferred = [(due, d) for due, d in self._deferred if d.partition != partition]
