"""The second part of a cursor comes back from its text, and a damaged or forged one is refused.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.query.preparation.lists import ListPins, check_pins, split_cursor
from watchfloor.schema.errors import UserError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.tree import And, Filter, InList, InQuery, Not
from watchfloor.schema.filter.value_list import ValueList
from watchfloor.schema.times import END_OF_TIME

VERSIONS = st.integers(0, 2**64 - 1)
RANGES = st.tuples(st.integers(0, END_OF_TIME - 1), st.integers(0, END_OF_TIME - 1)).filter(lambda two: two[0] < two[1])


def listed(name: str, version: int) -> Filter:
    return InList("src", name, ValueList(name, version, FieldType.IP, 1, None))


def found(text: str, version: int) -> Filter:
    return InQuery("src", text, None, "src", ValueList(text, version, FieldType.IP, 1, None))


@given(st.lists(VERSIONS, min_size=3, max_size=3), RANGES, st.booleans(), st.booleans())
def test_it_comes_back(versions: list[int], span: tuple[int, int], from_first: bool, to_last: bool) -> None:
    tree = And((listed("b", versions[1]), Not(found("z.q", versions[2])), listed("a", versions[0])))
    pins = ListPins(None if from_first else span[0], None if to_last else span[1])
    cursor, back = split_cursor(pins.append_to("AAAA", tree))
    assert (cursor, back) == ("AAAA", ListPins(pins.since, pins.until, tuple(versions)))
    check_pins(back, tree)
    with pytest.raises(UserError, match="has changed"):
        check_pins(back, And((listed("b", versions[1] ^ 1), Not(found("z.q", versions[2])), listed("a", versions[0]))))


def test_a_filter_without_lists_has_none() -> None:
    assert ListPins(1, 2).append_to("AAAA", None) == "AAAA"
    assert split_cursor("AAAA") == ("AAAA", None)


def write(*numbers: int) -> str:
    content = struct.pack(f">{len(numbers)}Q", *numbers)
    whole = content + zlib.crc32(content).to_bytes(4, "big")
    return "AAAA." + base64.urlsafe_b64encode(whole).rstrip(b"=").decode()


BAD = [
    "AAAA.", "AAAA.!", "AAAA.AAAA", "AAAA.AAAA.AAAA", write(), write(1, 2), write(2, 1, 5), write(5, 5, 5),
    write(1, 2**64 - 2, 5), write(2**63, 2**64 - 1, 5), write(1, 2, 5)[:-1], write(1, 2, 5) + "A",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_a_damaged_or_forged_one_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="damaged"):
        split_cursor(text)
