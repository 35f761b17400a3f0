"""The parts of a work item. Each part counts under an identity of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from watchfloor.ingest.queue.item import DRAWN, ITEM_ID_BYTES, WorkItem

PART_BYTES = 72 << 20
"""The length of a part. The counts of a long item (a large gzip file) are written part by part, so that memory stays
bounded; an item of the usual size is one part. Never change this value: events that were counted in parts of another
length would count twice."""
FIRST_BYTES = 6 << 20
"""The length of the first part of each item of a file that was queued before it was hashed: queries find events once
their part is counted, and someone waits for the first ones. Never change this value either."""


def part_id(item_id: bytes, part: int) -> bytes:
    """Returns the identity under which an item's part counts; that of the first part is the item's own."""
    if not part:
        return item_id
    return hashlib.blake2b(b"part%d" % part + item_id, digest_size=ITEM_ID_BYTES).digest()


def part_ids(item: WorkItem) -> Iterator[bytes]:
    """Iterates over the identities of all parts that an item may have."""
    for part in range(part_of_line(item, item.end) + 1):
        yield part_id(item.item_id, part)


def part_of_line(item: WorkItem, offset: int) -> int:
    """Returns the number of the part that a place in the file lies in."""
    return (offset - _start_of_parts(item)) // PART_BYTES


def parts_of_lines(item: WorkItem, offsets: np.ndarray) -> np.ndarray:
    """Returns ``part_of_line`` for each of many offsets."""
    return (offsets - _start_of_parts(item)) // PART_BYTES


def _start_of_parts(item: WorkItem) -> int:
    """Returns where the first part would begin if it were as long as the others."""
    return item.start - (PART_BYTES - FIRST_BYTES if item.digest == DRAWN else 0)
