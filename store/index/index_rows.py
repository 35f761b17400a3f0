"""Rows of the index: ``field = value`` has one row in each shard, other conditions have a range of rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from watchfloor.schema.errors import InternalError
from watchfloor.schema.filter.tree import (
    Between,
    Cidr,
    Compare,
    Condition,
    Exists,
    InList,
    InQuery,
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
from watchfloor.store.encoding.value_sets import read_content
from watchfloor.store.encoding.values import encode_value
from watchfloor.store.layout import FieldValue

# The literal characters with which an anchored pattern begins, none of them repeated.
_REGEX_PREFIX = re.compile(r"(?:\^|\\A)((?:[\w /@:,;=&%#~!'\"<>-]|\\[^\w\s])+)(?![*?{+])")


@dataclass(frozen=True)
class ValueRows:
    """The index rows [start, end), without their shard, whose values may satisfy a condition.

    The value begins after ``skip`` bytes. ``test`` is the filter program that decides which of the values satisfy the
    condition; None if all do. Long values are cut in the index, so that some of these rows may not satisfy it.
    ``reversed``: the rows have the values backwards.
    """

    start: bytes
    end: bytes
    skip: int
    test: bytes | None = None
    reversed: bool = False

    def select_values(self, counts: Counter[bytes]) -> Counter[bytes]:
        """Returns the counts of those values, as they stand in index rows, whose rows are among these."""
        prefix = self.start[: self.skip]
        return Counter({value: n for value, n in counts.items() if self.start <= prefix + value < self.end})


def make_index_suffixes(terms: Sequence[FieldValue]) -> list[bytes]:
    """Returns the index row of each ``field = value``, without the shard."""
    return [index_prefix(field.name) + to_index_value(encode_value(field.scalar, value)) for field, value in terms]


def make_index_ranges(source: Source, suffixes: Iterable[bytes], low: bytes, high: bytes) -> Ranges:
    """Returns ranges of the qualifiers [low, high) in all shards; ``suffixes`` are the rows without their shard."""
    ranges = Ranges()
    for suffix in suffixes:
        for shard in shard_names(source.shards):
            ranges.add_qualifiers(shard + suffix, low, high)
    return ranges


def find_value_rows(condition: Condition, source: Source) -> ValueRows:
    """Returns the rows of a typed condition on an indexed field. The index of a list field has the lists' elements."""
    kind = source.find_field(condition.field).scalar
    match condition:
        case Compare(_, op, value) if op in ("<", "<=", ">", ">="):
            bound = encode_value(kind, value)
            above = op[0] == ">"
            return _rows_between(condition, bound if above else b"", None if above else bound, op == ">", op != "<")
        case InList(values=values) | InQuery(values=values) if values is not None:
            return _rows_of_list(condition, source, read_content(values).bounds)
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


def _rows_of_list(condition: Condition, source: Source, bounds: tuple[bytes, bytes] | None) -> ValueRows:
    """Returns the rows from the first to the last value of a list; the servers look for those between them."""
    if bounds is None:
        return ValueRows(b"", b"", 0)
    return replace(_rows_between(condition, *bounds), test=compile_filter(condition, source))


def _rows_with_prefix(condition: Condition, start: bytes, test: bytes | None, backwards: bool = False) -> ValueRows:
    """Returns the rows of the values, or if ``backwards`` of the reversed values, that start with some bytes."""
    prefix = reversed_prefix(condition.field) if backwards else index_prefix(condition.field)
    end = prefix_end(prefix + start[:CUT_BYTES])
    assert end is not None  # a field's name does not consist of 0xFF
    return ValueRows(prefix + start[:CUT_BYTES], end, len(prefix), test, backwards)


def _rows_between(
    condition: Condition, low: bytes, high: bytes | None, after_low: bool = False, with_high: bool = True
) -> ValueRows:
    """Returns the rows of the encoded values between ``low`` and ``high``, or up to the last value if ``high`` is None.

    ``after_low`` excludes ``low`` itself, ``with_high`` includes ``high``.
    """
    prefix = index_prefix(condition.field)
    start = prefix + low[:CUT_BYTES] + (b"\x00" if after_low and len(low) <= CUT_BYTES else b"")
    if high is None:
        end = _rows_with_prefix(condition, b"", None).end
    elif len(high) > CUT_BYTES:
        end = _rows_with_prefix(condition, high, None).end
    else:
        end = prefix + high + (b"\x00" if with_high else b"")
    return ValueRows(start, end, len(prefix))
