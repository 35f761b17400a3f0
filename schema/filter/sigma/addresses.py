"""Finds the networks of the addresses that begin with a text: ``10.1.`` is 10.1.0.0/16."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network

from watchfloor.schema.filter.tree import Network

_IPV4 = re.compile(r"(?:\d{1,3}\.){0,3}\d{0,3}", re.ASCII)
_IPV6 = re.compile(r"(?:[0-9a-f]{1,4}:){1,7}[0-9a-f]{0,4}|[0-9a-f]{1,4}", re.ASCII | re.IGNORECASE)


def list_networks(prefix: str) -> list[Network] | None:
    """Returns the networks of the addresses whose text begins with ``prefix``; None if that cannot be told."""
    if _IPV4.fullmatch(prefix) and "." in prefix:
        return list(_list_ipv4(prefix))
    if _IPV6.fullmatch(prefix) and ":" in prefix:
        return list(_list_ipv6(prefix.lower()))
    return None


def _list_ipv4(prefix: str) -> Iterator[Network]:
    *whole, begun = prefix.split(".")
    if any(octet != str(int(octet)) or int(octet) > 255 for octet in whole if octet) or "" in whole:
        return  # no address is written so
    octets = [text for text in map(str, range(256)) if text.startswith(begun)] if begun else [""]
    for octet in octets:
        fixed = [*whole, octet] if octet else whole
        yield ip_network(f"{'.'.join(fixed + ['0'] * (4 - len(fixed)))}/{8 * len(fixed)}")


def _list_ipv6(prefix: str) -> Iterator[Network]:
    *whole, begun = prefix.split(":")
    bits = 16 * len(whole)
    start = sum(int(group, 16) << (112 - 16 * place) for place, group in enumerate(whole))
    if not begun:
        yield ip_network((start, bits))
        return
    for digits in range(4 - len(begun) + 1):
        value = int(begun, 16) << (4 * digits)
        yield ip_network((start | value << (112 - bits), bits + 16 - 4 * digits))
