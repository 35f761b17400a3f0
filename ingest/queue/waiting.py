"""Reads what waits in the topic of work items, to compare it with the ledger."""

from __future__ import annotations

import time

from watchfloor.schema.errors import QueueError
from watchfloor.schema.settings.settings import Settings

from .message import InvalidMessageError, read_message
from .work_queue import open_admin, open_reader, queue_errors, read_offsets

_PATIENCE = 15.0
"""Seconds without a record after which reading the topic has failed."""
Waiting = set[tuple[bytes, str]]
"""The identities of items with the tickets of their queueing."""


def read_waiting_items(settings: Settings) -> Waiting:
    """Returns the items that the topic holds and the group has not committed. Raises ``QueueError``."""
    key = settings.read_queue_key()
    waiting: Waiting = set()
    with queue_errors(settings, "reading what waits"):
        with open_admin(settings) as admin:
            offsets = read_offsets(admin, settings) if settings.topic in admin.list_topics() else {}
        left = {partition: found.end for partition, found in offsets.items() if found.next < found.end}
        if not left:
            return waiting
        with open_reader(settings) as reader:
            reader.assign(list(left))
            for partition in left:
                reader.seek(partition, offsets[partition].next)
            until = time.monotonic() + _PATIENCE
            while left:
                for records in reader.poll(timeout_ms=500).values():
                    until = time.monotonic() + _PATIENCE
                    for record in records:
                        try:
                            item = read_message(record.value or b"", record.headers, settings.topic, key)
                        except InvalidMessageError:
                            continue  # a worker makes a dead letter of it
                        waiting.add((item.item_id, item.ticket))
                left = {partition: end for partition, end in left.items() if reader.position(partition) < end}
                if left and time.monotonic() > until:
                    raise QueueError(f"topic {settings.topic} answers no more; see `watchfloor status`")
    return waiting
