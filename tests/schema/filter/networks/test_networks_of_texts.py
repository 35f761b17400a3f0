"""A network fits the texts of fields that may hold addresses or names of hosts, and takes no name for an address.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.patterns import check_regex
from watchfloor.schema.filter.syntax.network_patterns import network_pattern
from watchfloor.schema.filter.tree import Cidr, In, Matches, Or
from watchfloor.schema.filter.type_check import read_filter

Network = IPv4Network | IPv6Network
ACCESS = builtin_definitions()["web.access"]
HOSTS = ("10.example.com", "10.0.0.1.example.com", "fe80", "dead.beef", "localhost", "2001", "10.0.0", "-", "")
_groups = st.sampled_from([0, 0, 0, 1, 0xFE80, 0x2001, 0xDB8, 0xFFFF]) | st.integers(0, 0xFFFF)
_addresses_6 = st.lists(_groups, min_size=8, max_size=8).map(
    lambda groups: IPv6Address(sum(group << 16 * place for place, group in enumerate(groups)))
)
_addresses = st.integers(0, 2**32 - 1).map(IPv4Address) | _addresses_6


@st.composite
def networks_and_addresses(draw: st.DrawFn) -> tuple[Network, IPv4Address | IPv6Address]:
    """Draws a network, and an address that lies in it, near to it, or anywhere."""
    address = draw(_addresses)
    bits = address.max_prefixlen
    length = draw(st.integers(0, bits))
    kind = IPv4Network if bits == 32 else IPv6Network
    network: Network = kind((int(address), length), strict=False)  # type: ignore[arg-type]
    near = int(address) ^ draw(st.sampled_from([0, *(1 << place for place in range(bits))]))
    inside = int(network.network_address) | draw(st.integers(0, (1 << bits - length) - 1))
    other = draw(st.sampled_from([near, inside, int(network.network_address), int(network.broadcast_address)]))
    return network, draw(st.just(type(address)(other)) | _addresses)


def fits(network: Network, *texts: str) -> list[bool]:
    found = pc.match_substring_regex(pa.array(texts, pa.string()), network_pattern(network), ignore_case=True)
    return list(found.to_pylist())


@given(networks_and_addresses())
@example((IPv6Network("2001:db8::/48"), ip_address("2001:db8::1:0:0:1")))
@example((IPv6Network("::/128"), ip_address("::")))
@example((IPv6Network("1::/64"), ip_address("1::2:3:4:5")))
@example((IPv6Network("0:0:1::/48"), ip_address("0:0:1::")))
def test_a_pattern_fits_the_addresses_of_a_network_and_no_others(
    drawn: tuple[Network, IPv4Address | IPv6Address],
) -> None:
    network, address = drawn
    assert fits(network, str(address), str(address).upper()) == [address in network] * 2


@given(networks_and_addresses().map(lambda drawn: drawn[0]), st.text(max_size=20))
def test_a_pattern_fits_no_name(network: Network, text: str) -> None:
    assert not any(fits(network, *HOSTS))
    if ":" not in text and not text.replace(".", "").isdigit():
        assert fits(network, text, f"{network.network_address}.example.com") == [False, False]


@given(networks_and_addresses().map(lambda drawn: drawn[0]))
def test_a_pattern_runs_on_the_servers(network: Network) -> None:
    reason = check_regex(network_pattern(network), True)
    assert reason == "" or ("at most 1,000" in reason and len(network_pattern(network)) < 3000)


def test_the_filter_language_has_networks_of_texts() -> None:
    pattern = r"^10\.1\.OCTET\.OCTET$".replace("OCTET", "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])")
    wanted = Matches("client", pattern, ignore_case=True)
    assert read_filter("client in 10.1.0.0/16", ACCESS) == wanted
    assert read_filter("source.address in 10.1.0.0/16", ACCESS) == wanted
    assert read_filter("ip in 10.1.0.0/16", ACCESS) == wanted
    assert read_filter("client in (10.1.0.0/16, web.example.com)", ACCESS) == Or(
        (wanted, In("client", ("web.example.com",)))
    )
    with pytest.raises(FilterError, match="field path is a string: a network fits addresses only"):
        read_filter("path in 10.1.0.0/16", ACCESS)
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "a", "type": "ip", "ecs": "source.ip"},
        {"name": "b", "type": "string", "ecs": "destination.address"},
    ]
    both = parse_definition({**ACCESS.definition, "fields": fields, "unknown_fields": "quarantine"})
    network = IPv4Network("10.1.0.0/16")
    assert read_filter("ip in 10.1.0.0/16", both) == Or((Cidr("a", network), Matches("b", pattern, ignore_case=True)))


def test_many_networks_of_texts_are_refused() -> None:
    networks = ", ".join(f"10.{n}.0.0/16" for n in range(250))
    with pytest.raises(FilterError, match=r"filter's patterns have .* characters"):
        read_filter(f"client in ({networks})", ACCESS)
