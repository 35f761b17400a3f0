"""Where the index has its entries: of ``field = value`` a row a shard, of other conditions a range of rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from watchfloor.schema.errors import InternalError
from watchfloor.schema.filter.tree import (
    Between,
    Cidr,
    Compare,
    Condition,
    Exists,
    Matches,
    Prefix,
    Wildcard,
    find_literal_ends,
)
from watchfloor.schema.source import Source
from watchfloor.store.encoding.addresses import network_bounds
from watchfloor.store.encoding.index_values import CUT_BYTES, to_index_value
from watchfloor.store.encoding.keys import index_prefix, reversed_prefix, shard_names
from watchfloor.store.encoding.program import compile_filter
from watchfloor.store.encoding.ranges import Ranges, prefix_end
from watchfloor.store.encoding.values import encode_value
from watchfloor.store.layout import FieldValue

_REGEX_PREFIX = re.compile(r"(?:\^|\\A)((?:[\w /@:,;=&%#~!'\"<>-]|\\[^\w\s])+)(?![*?{+])")


@dataclass(frozen=True)
class ValueRows:
    """The index rows whose values may satisfy a condition, as what follows the shard: [start, end).

    ``skip``: bytes of it before the value. ``test``: the filter program that tells which of the values do satisfy it;
    None if all do. Values over ``index_values.MAX_INDEXED`` bytes are cut, so that rows may be among them that do not.
    ``reversed``: the rows have the values backwards.
    """

    start: bytes
    end: bytes
    skip: int
    test: bytes | None = None
    reversed: bool = False


def index_suffixes(terms: Sequence[FieldValue]) -> list[bytes]:
    """What follows the shard in the index rows of each term."""
    return [index_prefix(field.name) + to_index_value(encode_value(field.scalar, value)) for field, value in terms]


def index_ranges(source: Source, suffixes: Iterable[bytes], low: bytes, high: bytes) -> Ranges:
    """The qualifiers in [low, high) of these rows in all shards."""
    ranges = Ranges()
    for suffix in suffixes:
        for shard in shard_names(source.shards):
            ranges.add_qualifiers(shard + suffix, low, high)
    return ranges


def value_rows(condition: Condition, source: Source) -> ValueRows:
    """The rows of a typed condition on an indexed field; lists have their elements there."""
    kind = source.find_field(condition.field).scalar
    match condition:
        case Compare(_, op, value) if op in ("<", "<=", ">", ">="):
            bound = encode_value(kind, value)
            above = op[0] == ">"
            return _rows_between(condition, bound if above else b"", None if above else bound, op == ">", op != "<")
        case Between(_, low, high):
            return _rows_between(condition, encode_value(kind, low), encode_value(kind, high))
        case Cidr(_, network):
            return _rows_between(condition, *network_bounds(network))
        case Prefix(_, prefix):
            return _rows_with_prefix(condition, prefix.encode(), None)
        case Wildcard(_, pattern):
            start, end, between = find_literal_ends(pattern)
            backwards = not start and bool(end) and source.find_field(condition.field).is_reversed
            simple = between == "*" and not (start and end) and (backwards or not end)
            test = None if simple else compile_filter(condition, source)
            return _rows_with_prefix(condition, end.encode()[::-1] if backwards else start.encode(), test, backwards)
        case Matches(_, pattern, ignore_case):
            found = None if ignore_case or "|" in pattern else _REGEX_PREFIX.match(pattern)
            start = re.sub(r"\\(.)", r"\1", found[1]) if found else ""
            return _rows_with_prefix(condition, start.encode(), compile_filter(condition, source))
        case Exists():
            return _rows_with_prefix(condition, b"", None)
    raise InternalError(f"the index has no range of rows for {condition!r}")


def _rows_with_prefix(condition: Condition, start: bytes, test: bytes | None, backwards: bool = False) -> ValueRows:
    """Values that start with some bytes, or reversed ones that do."""
    prefix = reversed_prefix(condition.field) if backwards else index_prefix(condition.field)
    end = prefix_end(prefix + start[:CUT_BYTES])
    assert end is not None  # a field's name does not consist of 0xFF
    return ValueRows(prefix + start[:CUT_BYTES], end, len(prefix), test, backwards)


def _rows_between(
    condition: Condition, low: bytes, high: bytes | None, after_low: bool = False, with_high: bool = True
) -> ValueRows:
    """Encoded values from ``low``, or after it, to ``high``, or before it; None is the last there is."""
    prefix = index_prefix(condition.field)
    start = prefix + low[:CUT_BYTES] + (b"\x00" if after_low and len(low) <= CUT_BYTES else b"")
    if high is None:
        end = _rows_with_prefix(condition, b"", None).end
    elif len(high) > CUT_BYTES:
        end = _rows_with_prefix(condition, high, None).end
    else:
        end = prefix + high + (b"\x00" if with_high else b"")
    return ValueRows(start, end, len(prefix))
