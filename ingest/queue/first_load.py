"""Makes what the first load of a store would otherwise make: the tables of the instance, the topic, Kafka's offsets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from watchfloor.ingest.queue.work_queue import make_topic, queue_lag
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store


def prepare_first_load(settings: Settings) -> None:
    """Makes what is missing. Raises ``StoreError`` or ``QueueError`` if a server does not answer."""
    with ThreadPoolExecutor(1, "queue") as pool:
        queue = pool.submit(_prepare_queue, settings)
        Store.open(settings).close()
        queue.result()


def _prepare_queue(settings: Settings) -> None:
    make_topic(settings)
    queue_lag(settings)  # at the first question for a group's offsets Kafka makes the topic in which it keeps them
