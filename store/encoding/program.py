"""Compiles a typed filter tree into the bytes that tablet servers evaluate (Java's ``FilterProgram``).

The program is a preorder walk of the tree over encoded values (``values.py``). It compares bytes only, so the
servers need to know no types. ``docs/keys.md`` has the format.
"""

from __future__ import annotations

import re
import struct

from watchfloor.schema.errors import InternalError
from watchfloor.schema.filter.tree import (
    And,
    Between,
    Cidr,
    Compare,
    Exists,
    Filter,
    In,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
)
from watchfloor.schema.source import Source

from .addresses import network_bounds
from .ranges import prefix_end
from .values import encode_value

_AND, _OR, _NOT, _RANGE, _IN, _REGEX, _EXISTS, _EQUAL = 0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0x13, 0x14
_HAS_LO, _LO_INCLUSIVE, _HAS_HI, _HI_INCLUSIVE = 1, 2, 4, 8
_SCALAR, _LIST, _TIME = 0, 1, 2


def compile_filter(tree: Filter, source: Source) -> bytes:
    """Returns the program of a tree that has been typed against ``source``."""
    match tree:
        case And(children):
            return struct.pack(">BH", _AND, len(children)) + b"".join(compile_filter(c, source) for c in children)
        case Or(children):
            return struct.pack(">BH", _OR, len(children)) + b"".join(compile_filter(c, source) for c in children)
        case Not(child):
            return bytes([_NOT]) + compile_filter(child, source)
        case Compare(name, "=", value):
            return (
                bytes([_EQUAL])
                + encode_field(name, source)
                + _frame_bytes(encode_value(source.find_field(name).scalar, value))
            )
        case Compare(name, "!=", value):
            return compile_filter(Not(Compare(name, "=", value)), source)
        case Compare(name, op, value):
            constant = encode_value(source.find_field(name).scalar, value)
            inclusive = op.endswith("=")
            return (
                _compile_range(name, source, hi=constant, hi_inclusive=inclusive)
                if op[0] == "<"
                else _compile_range(name, source, lo=constant, lo_inclusive=inclusive)
            )
        case In(name, values):
            kind = source.find_field(name).scalar
            constants = sorted({encode_value(kind, v) for v in values})
            head = bytes([_IN]) + encode_field(name, source) + struct.pack(">I", len(constants))
            return head + b"".join(map(_frame_bytes, constants))
        case Between(name, low, high):
            kind = source.find_field(name).scalar
            bounds = encode_value(kind, low), encode_value(kind, high)
            return _compile_range(name, source, lo=bounds[0], hi=bounds[1], hi_inclusive=True)
        case Cidr(name, network):
            first, last = network_bounds(network)
            return _compile_range(name, source, lo=first, hi=last, hi_inclusive=True)
        case Prefix(name, prefix):
            return _compile_range(name, source, lo=prefix.encode(), hi=prefix_end(prefix.encode()))
        case Matches(name, pattern, ignore_case):
            return _compile_regex(name, source, pattern, ignore_case)
        case Wildcard(name, pattern):
            return _compile_regex(name, source, wildcard_regex(pattern), False)
        case Exists(name):
            return bytes([_EXISTS]) + encode_field(name, source)
    raise InternalError(f"no program for {tree!r}")


def wildcard_regex(pattern: str) -> str:
    """Returns the RE2 pattern that matches the strings that a wildcard pattern matches, from end to end."""
    # Several stars in a row become one: they mean the same, but each would cost the servers a step per character.
    parts = re.findall(r"\\.|\*+|\?|[^*?\\]+|\\", pattern, re.DOTALL)
    words = {"*": ".*", "?": "."}
    body = (
        words.get(part[0]) or _quote_regex(part[1:] if len(part) == 2 and part[0] == "\\" else part) for part in parts
    )
    return r"(?s)\A" + "".join(body) + r"\z"


def _quote_regex(text: str) -> str:
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def _compile_regex(name: str, source: Source, pattern: str, ignore_case: bool) -> bytes:
    return bytes([_REGEX]) + encode_field(name, source) + bytes([ignore_case]) + _frame_bytes(pattern.encode())


def _compile_range(
    name: str,
    source: Source,
    lo: bytes | None = None,
    hi: bytes | None = None,
    lo_inclusive: bool = True,
    hi_inclusive: bool = False,
) -> bytes:
    """Returns the program of a range of encoded values; a bound of None is open."""
    flags = (_HAS_LO | _LO_INCLUSIVE * lo_inclusive) * (lo is not None)
    flags |= (_HAS_HI | _HI_INCLUSIVE * hi_inclusive) * (hi is not None)
    bounds = b"".join(_frame_bytes(b) for b in (lo, hi) if b is not None)
    return bytes([_RANGE]) + encode_field(name, source) + bytes([flags]) + bounds


def encode_field(name: str, source: Source) -> bytes:
    """Returns the kind of a field's values and its name, as the program has them before a condition."""
    kind = _TIME if name == source.time_field else _LIST if source.find_field(name).is_list else _SCALAR
    encoded = name.encode()
    return struct.pack(">BH", kind, len(encoded)) + encoded


def _frame_bytes(value: bytes) -> bytes:
    """Returns the value after its length."""
    return struct.pack(">I", len(value)) + value
