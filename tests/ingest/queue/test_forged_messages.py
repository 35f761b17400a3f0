"""Messages that no load and no master has sent end as dead letters; nothing is read for them, and ingest goes on.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from command_line import run_command
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from ingest_support import counts, exactly, ledger_rows, load, log_file, own, source, wait_for, worker_here

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.message import SIGNATURE_HEADER, sign_item
from watchfloor.ingest.queue.message import _compute_signature as signature_of
from watchfloor.ingest.queue.work_queue import ItemProducer, queue_lag
from watchfloor.ingest.records.dead_letters import KEPT_BYTES, DeadLetter, DeadLetters
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
Message = tuple[bytes, list[tuple[str, bytes]]]


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


@contextmanager
def sender(settings: Settings) -> Iterator[Any]:
    """Yields a function that sends a message as whoever may write the topic."""
    with ItemProducer(settings) as producer:

        def send(message: Message) -> None:
            text, headers = message
            producer._producer.send(settings.topic, value=text, headers=headers, partition=0).get(timeout=20)

        yield send


def letters_of(store: Store, settings: Settings) -> list[DeadLetter]:
    return [letter for letter in DeadLetters(store).read_letters() if letter.topic == settings.topic]


def sign_bytes(text: bytes, settings: Settings) -> Message:
    return text, [(SIGNATURE_HEADER, b"v1=" + signature_of(text, settings.topic, settings.read_queue_key()))]


def assert_told(settings: Settings, letters: list[DeadLetter]) -> None:
    """Checks that the commands of operators tell of the dead letters."""
    status, out, _ = run_command(settings, "items", "--dead-letters")
    rows = [row for row in map(json.loads, out.splitlines()) if row["topic"] == settings.topic]
    assert status == 0 and [(row["offset"], row["bytes"], row["reason"]) for row in rows] == [
        (letter.offset, letter.size, letter.reason) for letter in letters
    ]
    told = json.loads(run_command(settings, "status", "--json")[1])["dead_letters"]
    assert told >= len(letters)
    assert "see `watchfloor items --dead-letters`" in run_command(settings, "status")[1]


def test_a_forged_item_for_a_secret_file_reads_nothing(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """Unsigned, signed by another key, and signed by the right key that somebody has found: no ledger has the item."""
    settings, kind = own(store_settings, "forged", partitions=1), store.catalog.register(source("forged"))
    secret = tmp_path / "shadow"
    secret.write_text("root:$y$secret:20000:0:99999:7:::\n")
    found = secret.stat()
    item = WorkItem(
        str(secret), b"f" * 16, 0, found.st_size, kind.name, b"", found.st_size, found.st_ino, found.st_mtime_ns,
        found.st_ctime_ns, found.st_size, 64, 0, "", False, secrets.token_hex(8),
    )  # fmt: skip
    with sender(settings) as send, worker_here(settings):
        send((item.to_json(), []))
        send(sign_item(item, settings.topic, b"another key" * 4))
        send(sign_item(item, "another topic", settings.read_queue_key()))
        send(sign_item(item, settings.topic, settings.read_queue_key()))
        send((b"x" * 9000, []))
        wait_for(lambda: len(letters_of(store, settings)) == 5)
        assert load(settings, log_file(tmp_path / "a.log", 100), feed=kind.name).events == 100
    letters = letters_of(store, settings)
    assert [letter.offset for letter in letters] == [0, 1, 2, 3, 4]
    reasons = ["not signed", "its signature", "its signature", "the ledger has no such item", "not signed"]
    assert all(reason in letter.reason for reason, letter in zip(reasons, letters, strict=True))
    assert (letters[4].size, letters[4].raw) == (9000, b"x" * KEPT_BYTES)
    assert_told(settings, letters)
    assert not list(Quarantine(store).open_lines(str(secret))) and not ledger_rows(store, secret)
    assert counts(store, kind) == exactly(kind, 100)


def test_an_old_message_and_a_forged_again_replace_nothing(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, "replay", partitions=1), store.catalog.register(source("replay"))
    file, other = log_file(tmp_path / "a.log", 100), log_file(tmp_path / "b.log", 50, "b")
    with sender(settings) as send, worker_here(settings):
        load(settings, file, feed=kind.name, again=True)
        (old,) = (row.item for row in ledger_rows(store, file) if row.item)
        load(settings, file, feed=kind.name, again=True)
        before = ledger_rows(store, file)
        send(sign_item(old, settings.topic, settings.read_queue_key()))
        send(sign_item(before[0].item or old, settings.topic, settings.read_queue_key()))
        send((replace(old, path=str(other), again=True).to_json(), []))
        forged = replace(before[0].item or old, path=str(other), again=True)
        send(sign_item(forged, settings.topic, settings.read_queue_key()))
        wait_for(lambda: len(letters_of(store, settings)) == 2 and not queue_lag(settings))
        file.unlink()
        send(sign_item(old, settings.topic, settings.read_queue_key()))
        wait_for(lambda: not queue_lag(settings))
    assert ledger_rows(store, file) == before and before[0].state == "done"
    assert counts(store, kind) == exactly(kind, 100)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
VALID = WorkItem(
    "/no/such.log", b"f" * 16, 0, 9, "web.access", b"", 9, 1, 2, 3, 9, 64, 0, "", False, "0123456789abcdef"
)
FIELDS: dict[str, Any] = orjson.loads(VALID.to_json())
MUTATED = st.dictionaries(st.sampled_from(sorted(FIELDS)), JSON, max_size=3).map(lambda new: orjson.dumps(FIELDS | new))
POISON = orjson.dumps(FIELDS | {"file_id": "00" * 8}), orjson.dumps(FIELDS | {"start": "0"})
TEXTS = st.binary(max_size=300) | JSON.map(orjson.dumps) | MUTATED | st.sampled_from(POISON)


def test_no_message_ends_a_worker(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """Any bytes, any JSON and damaged items, signed or not, are put aside; the good items between them are done."""
    settings, kind = own(store_settings, "any", partitions=1), store.catalog.register(source("any"))
    ledger, sent = Ledger(store), set()
    with sender(settings) as send, worker_here(settings):

        @given(st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=8))
        @hypothesis_settings(max_examples=12, database=None)
        def send_messages(messages: list[tuple[bytes, bool]]) -> None:
            for text, signed in messages:
                send(sign_bytes(text, settings) if signed else (text, []))
                sent.add(text)

        for number in range(2):
            send_messages()
            file = log_file(tmp_path / f"{number}.log", 100, f"any{number}")
            assert load(settings, file, feed=kind.name).events == 100
        wait_for(lambda: not queue_lag(settings))
    ledger.close()
    assert {letter.raw for letter in letters_of(store, settings)} == {text[:KEPT_BYTES] for text in sent}
    assert counts(store, kind) == exactly(kind, 200)
