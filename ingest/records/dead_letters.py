"""Keeps the messages of the queue that are no work items of this instance, in the table ``watchfloor.dead_letters``.

A row is a message: topic, partition, offset and a digest of the bytes, because offsets begin anew with a new topic. It
has one cell (JSON). A message that comes twice writes the same row.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from watchfloor.ingest.queue.item_buffer import Delivery
from watchfloor.schema.text import shorten
from watchfloor.store.admin.tables import DEAD_LETTERS_TABLE
from watchfloor.store.runtime.process_identity import name_this_process
from watchfloor.store.store import Store

from .cells import read_prefix

KEPT_BYTES = 4096
"""The most bytes that are kept of a message: whoever can send messages must not fill the store with them."""
_LONGEST_REASON = 1000


@dataclass(frozen=True)
class DeadLetter:
    """A message that no worker takes: its place in the queue, the reason, and its ``size`` in bytes.

    ``raw`` is its beginning. ``at`` are epoch seconds, ``by`` names the worker that got the message.
    """

    topic: str
    partition: int
    offset: int
    reason: str
    size: int
    raw: bytes
    at: float
    by: str


class DeadLetters:
    """Reads and writes dead letters. A write is durable when it returns. Raises ``StoreError``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write_letter(self, topic: str, delivery: Delivery, reason: str) -> None:
        """Records that a message of ``topic`` was not taken."""
        fields = {
            # A reason may quote a path, whose bytes need not be UTF-8.
            "reason": shorten(reason.encode("utf-8", "backslashreplace").decode(), _LONGEST_REASON),
            "size": len(delivery.raw),
            "raw": base64.b64encode(delivery.raw[:KEPT_BYTES]).decode(),
            "at": time.time(),
            "by": name_this_process(),
        }
        row = b"%s\0%s%s%s" % (
            topic.encode(),
            delivery.partition.to_bytes(4, "big"),
            delivery.offset.to_bytes(8, "big"),
            hashlib.blake2b(delivery.raw, digest_size=8).digest(),
        )
        self._store.put(DEAD_LETTERS_TABLE, [(row, b"", b"letter", orjson.dumps(fields))])

    def read_letters(self) -> Iterator[DeadLetter]:
        """Reads all dead letters, by topic, partition and offset."""
        for row, cells in read_prefix(self._store, DEAD_LETTERS_TABLE, b""):
            topic, _, place = row.partition(b"\0")
            fields = orjson.loads(cells["letter"])
            yield DeadLetter(
                topic.decode(),
                int.from_bytes(place[:4], "big"),
                int.from_bytes(place[4:12], "big"),
                fields["reason"],
                fields["size"],
                base64.b64decode(fields["raw"]),
                fields["at"],
                fields["by"],
            )
