"""Columns of a slab's events, prepared once, from which the vector of each block is made.

The costly steps, finding the distinct values and sorting them, are done for all blocks of a slab together. Elements of
arrays are picked by ``take``, which needs half the time of an index, or a quarter for rows of bytes.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import Field
from watchfloor.store.encoding.byte_arrays import list_offsets
from watchfloor.store.encoding.numbers import NUMBER_BYTES, numbers_to_bytes, to_numbers
from watchfloor.store.encoding.values import encode_elements

from .packed_bits import find_bit_width
from .packing import Packer
from .strings import TakenStrings, append_empty, fill_nulls, find_lengths, take_all
from .vector import (
    CODEC,
    Compression,
    encode_dictionary,
    encode_list,
    encode_numbers,
    encode_plain,
    find_unsigned_width,
    is_readable_alone,
)
from .zone import ValueHashes

_SAMPLE = 1024
"""Number of values that are sampled to decide whether a dictionary is worth making."""
_UNLIKE = 0.95
"""If more than this share of the sample is distinct, no dictionary is made."""


class VectorColumn(Protocol):
    """A field's values in the events of a slab."""

    @property
    def complete(self) -> bool:
        """True if each event of the slab is known to have exactly one value."""

    def encode_events(self, events: np.ndarray) -> bytes | None:
        """Returns the vector of these events, in this order; None if all their values are null."""

    def make_filter(self, events: np.ndarray) -> bytes:
        """Returns a Bloom filter of the values of these events; nothing if there is none."""

    def index_events(self) -> tuple[pa.BinaryArray, np.ndarray, np.ndarray]:
        """Returns the distinct encoded values, and all pairs of a value and an event that has it.

        The pairs are two arrays: the positions of the values, and those of the events.
        """


def make_column(field: Field, values: pa.Array, compression: Compression, packer: Packer | None = None) -> VectorColumn:
    """Returns the column of ``values``, which have the field's Arrow type.

    ``packer`` is that of the field in the slabs of a work item; without one the slab is alone.
    """
    packer = packer or Packer(compression)
    if field.is_list:
        return _ListColumn(field, values, compression, packer)
    if field.scalar in NUMBER_BYTES:
        return _NumberColumn(field, values, compression)
    if not field.is_indexed and _distinct_share(values) > _UNLIKE:
        return _PlainColumn(encode_elements(field, values), packer)
    words = values.dictionary_encode()
    return _DictionaryColumn(words, encode_elements(field, words.dictionary), packer)


def make_binary_column(values: pa.DictionaryArray, compression: Compression) -> VectorColumn:
    """Returns a column of bytes that are stored as they are. No value is null, and the dictionary's are distinct."""
    return _DictionaryColumn(values, values.dictionary, Packer(compression))


def encode_vector(field: Field, values: pa.Array, compression: Compression = CODEC) -> bytes | None:
    """Returns one column as a vector; None if it has only nulls."""
    return make_column(field, values, compression).encode_events(np.arange(len(values)))


def _distinct_share(values: pa.Array) -> float:
    """Returns the share of distinct values among the known values of a sample."""
    sample = values.slice(0, _SAMPLE)
    known = len(sample) - sample.null_count
    return len(pc.unique(sample.drop_null())) / known if known else 0.0


class _DictionaryColumn:
    """Strings and addresses, with a dictionary of the whole slab."""

    def __init__(self, dictionary: pa.DictionaryArray, distinct: pa.BinaryArray, packer: Packer) -> None:
        """``distinct`` are the encoded values of the dictionary."""
        order = pc.sort_indices(distinct)
        rank = np.empty(len(distinct) + 1, np.int32)
        rank[order.to_numpy()] = np.arange(len(distinct), dtype=np.int32)
        rank[-1] = len(distinct)
        self._values = distinct.take(order)
        self._codes = rank.take(_fill_null_codes(dictionary, len(distinct)))
        self._packing = packer.pack(self._values)
        self._hashes: ValueHashes | None = None
        self.complete = not dictionary.null_count
        # Behind the last value stands an empty one, which a null has in its place.
        self._strings = append_empty(self._values)
        self._lengths = find_lengths(self._strings)
        self._symbols = None
        if self._packing.symbols is not None:
            table, compressed = self._packing.symbols
            self._symbols = table, append_empty(compressed)

    def encode_events(self, events: np.ndarray) -> bytes | None:
        places = self._codes.take(events)
        found = _renumber_codes(places, len(self._values))
        if found is None:
            return None
        used, counts, codes = found
        bounds = self._values[int(used[0])].as_py(), self._values[int(used[-1])].as_py()
        compression = self._packing.compression
        if self._is_dictionary_smaller(self._lengths.take(used), counts, len(events)):
            return encode_dictionary(self._take(used), bounds, codes, compression)
        valid = places != len(self._values)
        return encode_plain(self._take(places), None if valid.all() else valid, bounds, compression)

    def make_filter(self, events: np.ndarray) -> bytes:
        used = np.flatnonzero(np.bincount(self._codes.take(events), minlength=len(self._values) + 1)[:-1])
        if self._hashes is None:
            self._hashes = ValueHashes(self._values)
        return self._hashes.make_filter(used)

    def _take(self, places: np.ndarray) -> TakenStrings:
        return TakenStrings(self._strings, self._lengths, places, self._symbols)

    def _is_dictionary_smaller(self, lengths: np.ndarray, counts: np.ndarray, events: int) -> bool:
        """Returns whether distinct values of these lengths and codes are smaller than the values, each as often."""
        once, always = int(lengths.sum()), int(lengths @ counts)
        if self._packing.compression == "packed":
            # A length takes about a byte, and values about half of theirs.
            return 8 * len(lengths) + 4 * once + events * find_bit_width(len(lengths)) <= 8 * events + 4 * always
        return 4 * len(lengths) + once + events * find_unsigned_width(len(lengths)) <= 4 * events + always

    def index_events(self) -> tuple[pa.BinaryArray, np.ndarray, np.ndarray]:
        events = np.flatnonzero(self._codes != len(self._values))
        return self._values, self._codes.take(events), events


class _PlainColumn:
    """Strings and addresses that hardly ever repeat."""

    def __init__(self, values: pa.BinaryArray, packer: Packer) -> None:
        self._values, self._packing = values, packer.pack(values)
        self._valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
        self._strings = fill_nulls(values)
        self._lengths = find_lengths(self._strings)
        self._hashes: ValueHashes | None = None
        self.complete = self._valid is None

    def encode_events(self, events: np.ndarray) -> bytes | None:
        valid = None if self._valid is None else self._valid.take(events)
        if not len(events) or (valid is not None and not valid.any()):
            return None
        values = self._values.take(pa.array(events))
        ends = pc.min_max(values)
        bounds = ends["min"].as_py(), ends["max"].as_py()
        if self._packing.symbols is None:
            strings = take_all(fill_nulls(values))
        else:
            strings = TakenStrings(self._strings, self._lengths, events, self._packing.symbols)
        return encode_plain(strings, None if valid is None or valid.all() else valid, bounds, self._packing.compression)

    def make_filter(self, events: np.ndarray) -> bytes:
        if self._hashes is None:
            self._hashes = ValueHashes(self._strings)
        return self._hashes.make_filter(events if self._valid is None else events[self._valid.take(events)])

    def index_events(self) -> tuple[pa.BinaryArray, np.ndarray, np.ndarray]:
        raise NotImplementedError("a field with an index has a dictionary")


class _NumberColumn:
    """Numbers, with a dictionary if there are few distinct ones or the field is indexed."""

    def __init__(self, field: Field, values: pa.Array, compression: Compression) -> None:
        self._kind, self._compression = field.scalar, compression
        self._numbers = to_numbers(field.scalar, values)
        self._valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
        self._distinct: np.ndarray | None = None
        self.complete = self._valid is None
        if field.is_indexed or self._is_repetitive():
            dictionary = pa.array(self._numbers, mask=None if self._valid is None else ~self._valid)
            dictionary = dictionary.dictionary_encode()
            distinct = dictionary.dictionary.to_numpy()
            order = np.argsort(distinct)
            rank = np.empty(len(distinct) + 1, np.int32)
            rank[order] = np.arange(len(distinct), dtype=np.int32)
            rank[-1] = len(distinct)
            self._distinct, self._codes = distinct[order], rank.take(_fill_null_codes(dictionary, len(distinct)))

    def _is_repetitive(self) -> bool:
        """Returns whether a dictionary may be the smaller form."""
        sample = self._numbers[:_SAMPLE]
        if NUMBER_BYTES[self._kind] == 1 or not len(sample) or int(sample.max()) - int(sample.min()) < 1 << 8:
            return False
        return len(np.unique(sample)) < 0.5 * len(sample)

    def encode_events(self, events: np.ndarray) -> bytes | None:
        valid = None
        if self._valid is not None:
            valid = self._valid.take(events)
            if not valid.any():
                return None
            valid = None if valid.all() else valid
        elif not len(events):
            return None
        numbers, width = self._numbers.take(events), NUMBER_BYTES[self._kind]
        if self._distinct is not None:
            found = _renumber_codes(self._codes.take(events), len(self._distinct))
            assert found is not None
            used, _, codes = found
            low, high = int(self._distinct[used[0]]), int(self._distinct[used[-1]])
            if self._is_dictionary_smaller(len(used), high - low, len(events)):
                values = numbers_to_bytes(self._kind, self._distinct[used])
                bounds = values[0].as_py(), values[-1].as_py()
                return encode_dictionary(take_all(values), bounds, codes, self._compression)
        return encode_numbers(numbers, valid, width, self._compression)

    def make_filter(self, events: np.ndarray) -> bytes:
        # Numbers are mostly asked for by ranges, and their vectors are small.
        return b""

    def _is_dictionary_smaller(self, distinct: int, span: int, events: int) -> bool:
        """Returns whether distinct numbers and codes are smaller than differences of up to ``span``."""
        width = NUMBER_BYTES[self._kind]
        if self._compression == "packed":
            return 8 * distinct * (1 + width) + events * find_bit_width(distinct) < events * find_bit_width(span)
        return distinct * (4 + width) + events * find_unsigned_width(distinct) < events * find_unsigned_width(span)

    def index_events(self) -> tuple[pa.BinaryArray, np.ndarray, np.ndarray]:
        assert self._distinct is not None
        events = np.flatnonzero(self._codes != len(self._distinct))
        return numbers_to_bytes(self._kind, self._distinct), self._codes.take(events), events


class _ListColumn:
    """Lists: their lengths, and a vector of all elements."""

    def __init__(self, field: Field, values: pa.ListArray, compression: Compression, packer: Packer) -> None:
        self._values, self._compression = values, compression
        # Elements are compressed by symbols or not at all, as they must be readable alone.
        self._within: Compression = "packed" if compression == "packed" else "none"
        self._packer = packer if compression == "packed" else Packer("none")
        self._elements = Field(field.name, field.scalar, field.indexes)
        self.complete = False

    def encode_events(self, events: np.ndarray) -> bytes | None:
        lists = self._values.take(pa.array(events))
        if lists.null_count == len(lists):
            return None
        elements = lists.flatten()
        inner = make_column(self._elements, elements, self._within, self._packer).encode_events(
            np.arange(len(elements))
        )
        if inner is None or not is_readable_alone(inner):
            inner = encode_vector(self._elements, elements, "none") or _encode_no_values(self._elements, elements)
        valid = lists.is_valid().to_numpy(zero_copy_only=False) if lists.null_count else None
        return encode_list(np.diff(list_offsets(lists).to_numpy()), valid, inner, self._compression)

    def make_filter(self, events: np.ndarray) -> bytes:
        if self._elements.scalar in NUMBER_BYTES:
            return b""
        distinct = pc.unique(self._values.take(pa.array(events)).flatten().drop_null())
        return ValueHashes(encode_elements(self._elements, distinct)).make_filter(np.arange(len(distinct)))

    def index_events(self) -> tuple[pa.BinaryArray, np.ndarray, np.ndarray]:
        """Returns distinct values and pairs, as other columns do. A value occurs in at most one pair with an event."""
        elements = self._values.flatten()
        values, codes, places = make_column(self._elements, elements, "none").index_events()
        events = pc.list_parent_indices(self._values).to_numpy().astype(np.int64)[places]
        pairs = np.unique(codes.astype(np.int64) * len(self._values) + events)
        return values, pairs // max(1, len(self._values)), pairs % max(1, len(self._values))


def _encode_no_values(field: Field, elements: pa.Array) -> bytes:
    """Returns a vector of no values, or of nulls alone, for the elements of lists."""
    if field.scalar in NUMBER_BYTES:
        valid = np.zeros(len(elements), bool) if len(elements) else None
        return encode_numbers(np.zeros(len(elements), np.uint64), valid, NUMBER_BYTES[field.scalar], "none")
    return encode_dictionary(take_all(pa.array([], pa.binary())), None, np.zeros(len(elements), np.uint8), "none")


def _fill_null_codes(dictionary: pa.DictionaryArray, null: int) -> np.ndarray:
    """Returns the codes of a dictionary array, with ``null`` for nulls."""
    indices = dictionary.indices
    return (indices.fill_null(null) if indices.null_count else indices).to_numpy()


def _renumber_codes(codes: np.ndarray, null: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Returns the codes that occur, ascending, their counts, and all codes as positions among them.

    The code ``null`` becomes the number of codes that occur. Returns None if all are null.
    """
    counts = np.bincount(codes, minlength=null + 1)
    used = np.flatnonzero(counts[:null])
    if not len(used):
        return None
    place = np.empty(null + 1, np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    place[null] = len(used)
    return used, counts[used], place.take(codes)
