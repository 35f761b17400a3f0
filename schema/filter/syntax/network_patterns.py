"""Writes a network of addresses as a regular expression, for texts that may be addresses or names of hosts.

The pattern fits the texts of the network's addresses in the forms in which programs write them: IPv4 in four decimal
numbers, IPv6 as RFC 5952 says, in capital letters too. It fits no name of a host.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from itertools import groupby

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HEX = "0123456789abcdef"
_DIGITS = "[0-9a-f]"
_GROUP = f"{_DIGITS}{{1,4}}"
_GROUPS = 8


def network_pattern(network: IPv4Network | IPv6Network) -> str:
    """Returns an RE2 pattern for the addresses of a network, for which case must be ignored."""
    if isinstance(network, IPv4Network):
        octets = zip(network.network_address.packed, network.broadcast_address.packed, strict=True)
        return "^" + r"\.".join(_number_pattern(first, last) for first, last in octets) + "$"
    fixed = [_group_pattern(*bounds) for bounds in _fixed_groups(network)]
    return f"^(?:{'|'.join(dict.fromkeys([_join_without_gap(fixed), *_join_with_gaps(network, fixed)]))})$"


def _number_pattern(first: int, last: int) -> str:
    """Returns a pattern for the numbers from ``first`` to ``last`` of an octet."""
    if (first, last) == (0, 255):
        return _OCTET
    parts = []
    for tens, numbers in groupby(range(first, last + 1), lambda number: number // 10):
        digits = [str(number % 10) for number in numbers]
        parts.append(f"{tens or ''}{digits[0] if len(digits) == 1 else f'[{digits[0]}-{digits[-1]}]'}")
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def _fixed_groups(network: IPv6Network) -> list[tuple[int, int]]:
    """Returns the first and the last value of each group of 16 bits that the network fixes wholly or partly."""
    count = -(-network.prefixlen // 16)
    words = zip(_words(int(network.network_address)), _words(int(network.broadcast_address)), strict=True)
    return list(words)[:count]


def _words(address: int) -> list[int]:
    return [address >> shift & 0xFFFF for shift in range(112, -1, -16)]


def _group_pattern(first: int, last: int) -> str:
    """Returns a pattern for the numbers from ``first`` to ``last``, whose low bits are free, without leading zeros."""
    pattern = ""
    for shift in (12, 8, 4, 0):
        low, high = first >> shift & 15, last >> shift & 15
        digit = f"{low:x}" if low == high else _DIGITS if (low, high) == (0, 15) else f"[{_HEX[low : high + 1]}]"
        if not pattern and not high and shift:
            continue  # a leading zero
        pattern = f"(?:{pattern})?{digit}" if pattern and not first >> shift + 4 else pattern + digit
    return pattern


def _join_without_gap(fixed: Sequence[str]) -> str:
    """Returns a pattern for addresses that have no ``::`` among the fixed groups."""
    if not fixed:
        return "[0-9a-f:]*:[0-9a-f:]*"
    return ":".join(fixed) + ("" if len(fixed) == _GROUPS else ":[0-9a-f:]*")


def _join_with_gaps(network: IPv6Network, fixed: Sequence[str]) -> list[str]:
    """Returns patterns for addresses whose ``::`` stands for one or more of the fixed groups."""
    free, can_be_zero = _GROUPS - len(fixed), [not first for first, _ in _fixed_groups(network)]
    patterns = []
    for start in range(len(fixed)):
        for end in range(start + 1, len(fixed) + 1):
            if not all(can_be_zero[start:end]):
                break
            if end < len(fixed):
                patterns.append(f"{':'.join(fixed[:start])}::{':'.join([*fixed[end:], *[_GROUP] * free])}")
            else:
                rest = f"(?:{_GROUP}(?::{_GROUP}){{0,{free - 1}}})?" if free else ""
                patterns.append(f"{':'.join(fixed[:start])}::{rest}")
    return patterns
