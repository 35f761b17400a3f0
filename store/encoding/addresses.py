"""IP addresses as bytes that sort like the addresses: 0x04 and 4 bytes, or 0x06 and 16 bytes; IPv4 before IPv6."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import InternalError

from .byte_arrays import to_binary_array, to_byte_rows

_OCTETS = pa.array([str(octet) for octet in range(256)])
# Typed and made once: to guess the type of a constant, Arrow looks for modules that are not installed, every time.
_DOT, _IPV4_BYTES = pa.scalar(".", pa.string()), pa.scalar(5, pa.int32())
_FEW_ADDRESSES = 512
"""Up to this number, addresses are decoded faster one by one than together."""


def encode_address(address: IPv4Address | IPv6Address) -> bytes:
    """Returns an address as bytes."""
    return (b"\x04" if address.version == 4 else b"\x06") + address.packed


def network_bounds(network: IPv4Network | IPv6Network) -> tuple[bytes, bytes]:
    """Returns the first and the last address of a network as bytes; both belong to it."""
    return encode_address(network.network_address), encode_address(network.broadcast_address)


def encode_addresses(texts: pa.StringArray) -> pa.BinaryArray:
    """Returns addresses, given as text, as bytes; nulls stay null."""
    dictionary = texts.dictionary_encode()
    return _pack_texts(dictionary.dictionary).take(dictionary.indices)


def decode_addresses(values: pa.BinaryArray) -> pa.StringArray:
    """Returns addresses, given as bytes, as text; nulls stay null."""
    if len(values) <= _FEW_ADDRESSES:
        unpack_ipv4 = socket.inet_ntoa
        texts = [
            unpack_ipv4(value[1:]) if value and value[0] == 4 and len(value) == 5 else value and _unpack_text(value)
            for value in values.to_pylist()
        ]
        return pa.array(texts, pa.string())
    dictionary = values.dictionary_encode()
    return _unpack_texts(dictionary.dictionary).take(dictionary.indices)


def _pack_texts(texts: pa.StringArray) -> pa.BinaryArray:
    """Returns addresses as bytes, none of them null: IPv4 together, IPv6 one by one."""
    is_ipv6 = pc.match_substring(texts, ":").to_numpy(zero_copy_only=False)
    octets = pc.split_pattern(texts.filter(pa.array(~is_ipv6)), ".").flatten().cast(pa.uint8()).to_numpy()
    rows = np.full((len(octets) // 4, 5), 4, np.uint8)
    rows[:, 1:] = octets.reshape(-1, 4)
    ipv6 = [b"\x06" + socket.inet_pton(socket.AF_INET6, t) for t in texts.filter(pa.array(is_ipv6)).to_pylist()]
    return _interleave(to_binary_array(rows), pa.array(ipv6, pa.binary()), ~is_ipv6)


def _unpack_texts(values: pa.BinaryArray) -> pa.StringArray:
    """Returns addresses as text, none of them null: IPv4 together, IPv6 one by one."""
    is_ipv4 = pc.equal(pc.binary_length(values), _IPV4_BYTES)
    ipv4 = to_byte_rows(values.filter(is_ipv4), 5)
    if not (ipv4[:, 0] == 4).all():
        raise InternalError("a stored address of 5 bytes is not of IPv4; was it written by another version?")
    texts = pc.binary_join_element_wise(*(_OCTETS.take(pa.array(ipv4[:, i])) for i in range(1, 5)), _DOT)
    others = [_unpack_text(value) for value in values.filter(pc.invert(is_ipv4)).to_pylist()]
    return _interleave(texts, pa.array(others, pa.string()), is_ipv4.to_numpy(zero_copy_only=False))


def _unpack_text(value: bytes) -> str:
    """Returns one address as text. Raises ``InternalError`` if the bytes are not an address."""
    if value[:1] == b"\x04" and len(value) == 5:
        return socket.inet_ntoa(value[1:])
    if value[:1] == b"\x06" and len(value) == 17:
        # The C library writes the form of RFC 5952 too, but an IPv4 address within the first ones with dots.
        return socket.inet_ntop(socket.AF_INET6, value[1:]) if any(value[1:11]) else str(IPv6Address(value[1:]))
    raise InternalError(f"a stored address is not one: {value.hex()}; was it written by another version?")


def _interleave(first: pa.Array, second: pa.Array, is_first: np.ndarray) -> pa.Array:
    """Returns an array that takes its next value from ``first`` where ``is_first`` is true, else from ``second``."""
    if not len(second):
        return first
    places = np.where(is_first, np.cumsum(is_first) - 1, len(first) + np.cumsum(~is_first) - 1)
    return pa.concat_arrays([first, second]).take(pa.array(places))
