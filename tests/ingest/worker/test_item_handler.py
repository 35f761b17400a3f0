"""What a worker does with one item when the ledger fails it.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.worker.claim import MAX_ATTEMPTS, ClaimPolicy
from watchfloor.ingest.worker.item_handler import ItemHandler
from watchfloor.schema.errors import InternalError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime import disk_space
from watchfloor.store.runtime.disk_space import DiskGuard

ITEM = WorkItem("a.log", b"f" * 16, 0, 10, "web.one", b"", 10, 0, 10, 0, 0, "", False, "ticket")


class BrokenLedger:
    """Fails at each reading with an error that is not the store's."""

    def __init__(self) -> None:
        self.readings = 0

    def read_item(self, item: WorkItem) -> Any:
        self.readings += 1
        raise InternalError("not JSON")


class Session:
    name = "host:1"

    def __init__(self) -> None:
        self.ledger = BrokenLedger()
        self.disk = DiskGuard(Settings(), logging.getLogger("quiet"))


def test_a_ledger_that_cannot_take_the_end_of_an_item_ends_the_worker() -> None:
    session: Any = Session()
    reader: Any = None
    handler = ItemHandler(
        session, ClaimPolicy(), reader, threading.Event(), logging.getLogger("quiet"), on_read=lambda: None
    )
    with pytest.raises(InternalError, match="not JSON"):
        handler.handle(ITEM)
    assert session.ledger.readings <= MAX_ATTEMPTS + 2


def test_an_item_that_waits_for_room_on_the_disk_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_space, "count_free_bytes", lambda folder: 0)
    session: Any = Session()
    reader: Any = None
    stop = threading.Event()
    handler = ItemHandler(session, ClaimPolicy(), reader, stop, logging.getLogger("quiet"), on_read=lambda: None)
    threading.Timer(0.3, stop.set).start()
    assert handler.handle(ITEM) is False, "it is given back"
    assert session.ledger.readings == 0
