"""Writes small Windows event log files: the binary XML of elements, attributes and texts, without templates."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

CHUNK_BYTES = 64 << 10
HEADER_BYTES = 4 << 10
_FIRST_RECORD = 512
_FILETIME_OF_1970 = 116_444_736_000_000_000


@dataclass(frozen=True)
class Node:
    """An element: its name, attributes, and either a text or elements in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    content: str | Sequence[Node] = ""


def write_evtx(chunks: Sequence[Sequence[Node]]) -> bytes:
    """Returns a file whose chunks hold these events."""
    header = struct.pack(
        "<8sQQQIHHHH", b"ElfFile\0", 0, max(len(chunks) - 1, 0), 1, 128, 1, 3, HEADER_BYTES, len(chunks)
    )
    header = header.ljust(120, b"\0")
    header += struct.pack("<II", 0, zlib.crc32(header))
    body, number = b"", 1
    for events in chunks:
        body += _write_chunk(events, number)
        number += len(events)
    return header.ljust(HEADER_BYTES, b"\0") + body


def _write_chunk(events: Sequence[Node], first: int) -> bytes:
    data, last = b"", _FIRST_RECORD
    for number, event in enumerate(events, first):
        last = _FIRST_RECORD + len(data)
        xml = b"\x0f\x01\x01\x00" + _write_element(event, last + 24 + 4) + b"\x00"
        size = 24 + len(xml) + 4
        data += struct.pack("<4sIQQ", b"**\0\0", size, number, _FILETIME_OF_1970 + number * 10_000_000) + xml
        data += struct.pack("<I", size)
    free = _FIRST_RECORD + len(data)
    end = first + len(events) - 1
    head = struct.pack("<8sQQQQIII", b"ElfChnk\0", first, end, first, end, 128, last, free)
    head += struct.pack("<I", zlib.crc32(data))
    head = head.ljust(120, b"\0")
    tables = bytes(_FIRST_RECORD - 128)
    head += struct.pack("<II", 0, zlib.crc32(head + tables)) + tables
    return (head + data).ljust(CHUNK_BYTES, b"\0")


def _write_element(node: Node, at: int) -> bytes:
    """Returns an element that stands at ``at`` in its chunk."""
    head = 1 + 4
    inner = _write_name(node.name, at + head)
    if node.attributes:
        attributes = b""
        place = at + head + len(inner) + 4
        names = list(node.attributes)
        for name in names:
            token = b"\x46" if name != names[-1] else b"\x06"
            attributes += token + _write_name(name, place + len(attributes) + 1) + _write_text(node.attributes[name])
        inner += struct.pack("<I", len(attributes)) + attributes
    inner += b"\x02"
    if isinstance(node.content, str):
        inner += _write_text(node.content) if node.content else b""
    else:
        for child in node.content:
            inner += _write_element(child, at + head + len(inner))
    inner += b"\x04"
    return struct.pack("<BI", 0x41 if node.attributes else 0x01, len(inner)) + inner


def _write_name(name: str, at: int) -> bytes:
    """Returns a reference to a name, at ``at`` in its chunk, and the name behind it."""
    code = 0
    for character in name:
        code = (code * 65_599 + ord(character)) & 0xFFFFFFFF
    return struct.pack("<IIHH", at + 4, 0, code & 0xFFFF, len(name)) + name.encode("utf-16-le") + b"\0\0"


def _write_text(text: str) -> bytes:
    return struct.pack("<BBH", 0x05, 0x01, len(text)) + text.encode("utf-16-le")
