"""Where the index has its entries of ``field = value``, and of values that end alike; in both layouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from watchfloor.schema.source import Field, Source

from .keys import index_prefix, reversed_prefix, shard_names
from .layout import Term
from .ranges import Ranges
from .values import encode_value, index_value, reversed_start


def index_suffixes(terms: Sequence[Term]) -> list[bytes]:
    """What follows the shard in the index rows of each term."""
    return [index_prefix(field.name) + index_value(encode_value(field.scalar, value)) for field, value in terms]


def ending_prefix(field: Field, ending: str) -> bytes:
    """What follows the shard at the beginning of the index rows of all values of a ``reversed`` field that end so.

    Of an ending of more than 1,000 bytes that is a part only: values that end otherwise may be found too.
    """
    return reversed_prefix(field.name) + reversed_start(encode_value(field.scalar, ending))


def index_ranges(source: Source, suffixes: Iterable[bytes], low: bytes, high: bytes) -> Ranges:
    """The qualifiers in [low, high) of these rows in all shards."""
    ranges = Ranges()
    for suffix in suffixes:
        for shard in shard_names(source.shards):
            ranges.add_qualifiers(shard + suffix, low, high)
    return ranges
