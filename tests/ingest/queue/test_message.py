"""What comes from the queue is signed, is an item by the schema and by its numbers, or is refused with a reason.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.ingest.queue.item import BLAKE2B, BLAKE3, WorkItem
from watchfloor.ingest.queue.message import SIGNATURE_HEADER, InvalidMessageError, read_message, sign_item
from watchfloor.ingest.queue.message import _compute_signature as signature_of

KEY, TOPIC = b"k" * 32, "items"
ITEM = WorkItem(
    "/var/log/a.log", b"f" * 16, 0, 10, "web.access", b"#", 10, 5, -1, 9, 10, 64, 0, "", False, "0123456789abcdef"
)
FIELDS: dict[str, Any] = orjson.loads(ITEM.to_json())


def signed(text: bytes, topic: str = TOPIC, key: bytes = KEY) -> list[tuple[str, bytes]]:
    return [(SIGNATURE_HEADER, b"v1=" + signature_of(text, topic, key))]


def read(text: bytes) -> WorkItem:
    """Reads a message that bears the right signature, whatever it says."""
    return read_message(text, signed(text), TOPIC, KEY)


def test_an_item_comes_as_it_was_sent() -> None:
    for item in (ITEM, replace(ITEM, path="/caf\udce9 \n.log", feed="zeek", before="0f" * 16, again=True, end=0)):
        text, headers = sign_item(item, TOPIC, KEY)
        assert read_message(text, headers, TOPIC, KEY) == item


def test_only_the_key_of_the_instance_signs_for_this_topic() -> None:
    text, headers = sign_item(ITEM, TOPIC, KEY)
    for other_text, other_headers, why in (
        (text, [], "not signed"),
        (text, [("other", b"v1")], "not signed"),
        (text, [(SIGNATURE_HEADER, b"")], "unknown way"),
        (text, [(SIGNATURE_HEADER, headers[0][1].replace(b"v1", b"v2"))], "unknown way"),
        (text, [*headers, *headers], "unknown way"),
        (text, [(SIGNATURE_HEADER, headers[0][1][:-1])], "its signature"),
        (text, [(SIGNATURE_HEADER, b"v1=\xff")], "its signature"),
        (text, signed(text, key=b"j" * 32), "its signature"),
        (text, signed(text, topic="other"), "its signature"),
        (text.replace(b"web.access", b"web.accesS"), headers, "its signature"),
    ):
        with pytest.raises(InvalidMessageError, match=why):
            read_message(other_text, other_headers, TOPIC, KEY)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"file_id": "00" * 8}, "file_id"),
        ({"file_id": "g" * 32}, "file_id"),
        ({"start": "0"}, "start"),
        ({"start": 0.0}, "start"),
        ({"start": -1}, "start"),
        ({"start": True}, "start"),
        ({"end": 1 << 63}, "end"),
        ({"start": 9, "end": 8}, "order"),
        ({"end": 11}, "order"),
        ({"base": 1}, "order"),
        ({"size": -1}, "size"),
        ({"split": None}, "split"),
        ({"feed": "../x"}, "feed"),
        ({"feed": "web.access\n"}, "feed"),
        ({"feed": ""}, "feed"),
        ({"before": "00"}, "before"),
        ({"again": 1}, "again"),
        ({"ticket": ""}, "ticket"),
        ({"header": "###"}, "header"),
        ({"header": "AAAAA"}, "not a work item"),
        ({"path": base64.b64encode(b"a.log").decode()}, "path"),
        ({"path": base64.b64encode(b"/a/../b").decode()}, "path"),
        ({"path": base64.b64encode(b"//a").decode()}, "path"),
        ({"path": base64.b64encode(b"/a/").decode()}, "path"),
        ({"path": base64.b64encode(b"/a\0b").decode()}, "path"),
        ({"member": base64.b64encode(b"a\0b").decode(), "compressed": True}, "member"),
        ({"member": base64.b64encode(b"a").decode(), "compressed": False}, "member"),
        ({"member": "?"}, "member"),
        ({"digest": "md5"}, "digest"),
        ({"more": 1}, "more"),
    ],
)
def test_what_no_item_can_be_is_refused_with_its_place(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidMessageError, match=why):
        read(orjson.dumps({**FIELDS, **changes}))


def test_an_item_from_before_archives_were_read_has_no_member() -> None:
    before = orjson.dumps({name: value for name, value in FIELDS.items() if name != "member"})
    assert read(before).member == ""


def test_an_item_from_before_there_was_a_choice_has_the_old_hash() -> None:
    before = orjson.dumps({name: value for name, value in FIELDS.items() if name != "digest"})
    assert (read(before).digest, read(orjson.dumps(FIELDS)).digest) == (BLAKE2B, BLAKE3)


@pytest.mark.parametrize("missing", sorted(FIELDS.keys() - {"member", "digest", "content"}))
def test_no_field_may_be_missing(missing: str) -> None:
    with pytest.raises(InvalidMessageError, match=missing):
        read(orjson.dumps({name: value for name, value in FIELDS.items() if name != missing}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@given(st.binary(max_size=200) | JSON.map(orjson.dumps))
def test_any_bytes_are_an_item_or_refused(text: bytes) -> None:
    with pytest.raises(InvalidMessageError):
        read(text)


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), JSON, min_size=1, max_size=3))
def test_any_values_make_an_item_or_are_refused(changes: dict[str, Any]) -> None:
    try:
        item = read(orjson.dumps({**FIELDS, **changes}))
    except InvalidMessageError:
        return
    assert len(item.file_id) == 16 and 0 <= item.start <= item.end <= item.length and item.path.startswith("/")


def test_a_message_nested_without_end_is_refused() -> None:
    with pytest.raises(InvalidMessageError, match="not JSON"):
        read(b"[" * 100_000)
