"""Queues items again that the ledger calls queued and the topic lacks: after a deleted topic, lost data of Kafka, a
power cut, or a death between ledger and queue.

An item is sent as it was, with its ticket. If it is in the topic after all, or another process sends it too, the second
message finds by the ledger that the item has ended under this ticket, or waits while a worker reads it.
"""

from __future__ import annotations

from collections.abc import Iterable

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.waiting import read_waiting_items
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.records.ledger import OPEN_STATES, Ledger, LedgerRow
from watchfloor.schema.settings.settings import Settings


def requeue_lost_items(settings: Settings, ledger: Ledger, producer: ItemProducer, rows: Iterable[LedgerRow]) -> int:
    """Queues again those of ``rows`` that the topic of ``settings`` lacks, and returns their number.

    Items of other topics are left alone. Raises ``StoreError`` or ``QueueError``.
    """
    # The rows are older than what the topic holds: an item that was committed in between has ended, and its row is read
    # anew.
    queued = [row.item for row in rows if row.item and row.state in OPEN_STATES and row.topic == settings.topic]
    if not queued:
        return 0
    waiting = read_waiting_items(settings)
    absent = [item for item in queued if (item.item_id, item.ticket) not in waiting]
    lost = [item for item in absent if _is_open(item, ledger.read_item(item))]
    return producer.send(lost)


def _is_open(item: WorkItem, row: LedgerRow | None) -> bool:
    return row is not None and row.item == item and row.state in OPEN_STATES
