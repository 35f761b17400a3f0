"""The range of the table of sightings that a condition has holds the values that satisfy it, and no others.

In `make test`: it needs no stack.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.tree import Cidr, Compare, make_ends_with
from watchfloor.store.encoding.index_values import CUT_BYTES, MAX_INDEXED
from watchfloor.store.encoding.values import encode_elements
from watchfloor.store.sightings.sighted_rows import (
    SightedRange,
    find_sighted_range,
    make_value_rows,
    to_sighted_values,
)

NAME, ADDRESS = Field("name", FieldType.STRING), Field("address", FieldType.IP)
_texts = st.text("ab.*é", max_size=6) | st.integers(MAX_INDEXED - 3, MAX_INDEXED + 3).map(lambda n: "x" * n + "ab")
_addresses = st.ip_addresses(v=4) | st.ip_addresses(v=6)
_networks = st.one_of(
    st.builds(lambda a, bits: ip_network((a, bits), strict=False), st.ip_addresses(v=4), st.integers(0, 32)),
    st.builds(lambda a, bits: ip_network((a, bits), strict=False), st.ip_addresses(v=6), st.integers(0, 128)),
)


def stored(field: Field, value: str) -> bytes:
    """The value as it stands in a row."""
    result: bytes = to_sighted_values(field, encode_elements(field, pa.array([value])))[0].as_py()
    return result


def holds(found: SightedRange, value: bytes) -> bool:
    return value == found.low if found.high is None else found.low <= value < found.high


@given(_texts, _texts)
def test_equal_texts(asked: str, value: str) -> None:
    found = find_sighted_range(NAME, Compare("name", "=", asked))
    assert found is not None
    assert holds(found, stored(NAME, value)) == (asked == value)
    assert found.row == make_value_rows([stored(NAME, asked)])[0]


@given(_texts.filter(bool), _texts, st.booleans())
def test_endings(ending: str, value: str, fits: bool) -> None:
    value += ending if fits else ""
    found = find_sighted_range(NAME, make_ends_with("name", ending))
    assert (found is None) == (len(ending.encode()) > CUT_BYTES)
    if found is not None:
        assert holds(found, stored(NAME, value)) == value.endswith(ending)


@given(_networks, _addresses, st.integers(0))
def test_networks(network: IPv4Network | IPv6Network, other: object, place: int) -> None:
    found = find_sighted_range(ADDRESS, Cidr("address", network))
    assert found is not None
    for address in (other, network[place % network.num_addresses]):
        inside = ip_address(str(address)) in network
        assert holds(found, stored(ADDRESS, str(ip_address(str(address))))) == inside


def test_rows_of_all_shards() -> None:
    found = find_sighted_range(ADDRESS, Cidr("address", ip_network("10.0.0.0/8")))
    assert found is not None
    ranges = list(found.list_row_ranges())
    rows = make_value_rows([stored(ADDRESS, f"10.0.0.{n}") for n in range(100)])
    assert all(sum(start <= row < end for start, end in ranges) == 1 for row in rows)
    assert len({row[:4] for row in rows}) == len(ranges), "values spread over all shards"
