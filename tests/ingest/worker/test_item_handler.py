"""What a worker does with one message when the ledger fails it.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import logging
import threading
from argparse import Namespace
from contextlib import nullcontext
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.item_buffer import Delivery
from watchfloor.ingest.reading.item_reader import ReadTask
from watchfloor.ingest.records.ledger import ItemEnd, ItemRun, LedgerRow
from watchfloor.ingest.worker import item_handler
from watchfloor.ingest.worker.claim import MAX_ATTEMPTS, ClaimPolicy
from watchfloor.ingest.worker.item_handler import ItemHandler
from watchfloor.schema.errors import InternalError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime import disk_space
from watchfloor.store.runtime.disk_space import DiskGuard

ITEM = WorkItem("a.log", b"f" * 16, 0, 10, "web.one", b"", 10, 5, 0, 0, 10, 0, 0, "", False, "abc")
DELIVERY = Delivery(ITEM, 0, 7, raw=ITEM.to_json())


class BrokenLedger:
    """Fails at each reading with an error that is not the store's."""

    def __init__(self) -> None:
        self.readings = 0

    def read_item(self, item: WorkItem) -> Any:
        self.readings += 1
        raise InternalError("not JSON")


class Letters:
    """Takes dead letters, or fails too."""

    def __init__(self, works: bool) -> None:
        self.works = works
        self.reasons: list[str] = []

    def write_letter(self, topic: str, delivery: Delivery, reason: str) -> None:
        if not self.works:
            raise InternalError("no letter")
        self.reasons.append(reason)


class Session:
    name, topic = "host:1", "items"

    def __init__(self, letters: Letters) -> None:
        self.ledger, self.dead_letters = BrokenLedger(), letters
        self.disk = DiskGuard(Settings(), logging.getLogger("quiet"))


def handler(session: Any, stop: threading.Event | None = None) -> ItemHandler:
    reader: Any = None
    log = logging.getLogger("quiet")
    return ItemHandler(session, ClaimPolicy(), reader, stop or threading.Event(), log, on_read=lambda: None)


def test_an_item_whose_row_is_damaged_becomes_a_dead_letter() -> None:
    session = Session(Letters(works=True))
    assert handler(session).handle(DELIVERY)
    assert len(session.dead_letters.reasons) == 1 and "not JSON" in session.dead_letters.reasons[0]
    assert session.ledger.readings <= MAX_ATTEMPTS + 2


def test_an_item_that_waits_for_room_on_the_disk_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_space, "count_free_bytes", lambda folder: 0)
    session = Session(Letters(works=True))
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    assert handler(session, stop).handle(DELIVERY) is False, "it is given back"
    assert session.ledger.readings == 0


def test_a_store_that_takes_neither_an_end_nor_a_dead_letter_ends_the_worker() -> None:
    session = Session(Letters(works=False))
    with pytest.raises(InternalError, match="no letter"):
        handler(session).handle(DELIVERY)
    assert session.ledger.readings <= MAX_ATTEMPTS + 2


def test_a_message_that_carries_no_item_becomes_a_dead_letter_without_a_look_at_the_ledger() -> None:
    session = Session(Letters(works=True))
    assert handler(session).handle(Delivery(None, 0, 7, "not signed", b"junk"))
    assert session.dead_letters.reasons == ["not signed"] and not session.ledger.readings


@pytest.mark.parametrize("attempt", [1, 2])
def test_an_item_that_is_read_again_is_read_beside_no_other(attempt: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item that kills its worker would count for the item beside it again and again."""
    earlier = ItemRun(ITEM.ticket, attempt - 1, 1.0, "host:0") if attempt > 1 else None
    session = Session(Letters(works=True))
    row = LedgerRow("running" if earlier else "queued", ITEM.path, 1.0, "host:0", ITEM, earlier)
    writable: Any = session
    writable.ledger, writable.store, writable.sink = Namespace(read_item=lambda item: row), None, None
    writable.event_sink = lambda waiting: nullcontext()
    monkeypatch.setattr(item_handler, "Heartbeat", lambda *_: MagicMock())
    begun: list[bool] = []

    def read(task: ReadTask) -> ItemEnd:
        task.on_read()
        return ItemEnd(ITEM.ticket, "done", 2.0, "host:1")

    handler = ItemHandler(
        writable,
        ClaimPolicy(),
        cast(Any, Namespace(read=read)),
        threading.Event(),
        logging.getLogger("quiet"),
        on_read=lambda: begun.append(True),
    )
    assert handler.handle(DELIVERY)
    assert begun == [True] * (attempt == 1)
