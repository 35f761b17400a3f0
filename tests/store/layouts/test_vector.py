"""Column vectors come back as they were written, and a damaged one is refused.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import contextlib
import zlib
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from value_strategies import VALUES, to_arrow

from watchfloor.schema.errors import StoreError, WatchfloorError
from watchfloor.schema.field import VALUE_INDEX, Field, FieldType
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.bridge import jvm
from watchfloor.store.encoding.values import encode_value
from watchfloor.store.layouts.block.vectors.column import encode_vector, make_column
from watchfloor.store.layouts.block.vectors.packed_bits import count_packed_bytes, pack_bits, unpack_bits
from watchfloor.store.layouts.block.vectors.packing import Packer
from watchfloor.store.layouts.block.vectors.symbols import StringCompressor, decompress, read_table
from watchfloor.store.layouts.block.vectors.vector import Compression, count_rows, decode_binary, decode_vector
from watchfloor.store.layouts.block.vectors.vector_header import read_header

CODECS: tuple[Compression, ...] = ("none", "zstd", "lz4_raw", "packed")
codecs = st.sampled_from(CODECS)
EXTREMES: dict[FieldType, list[Any]] = {
    FieldType.INT: [-(1 << 63), (1 << 63) - 1, -1, 0],
    FieldType.FLOAT: [float("inf"), float("-inf"), 5e-324, -5e-324, 0.0],
    FieldType.STRING: ["", "\x00", "x" * 63, "x" * 64, "x" * 65, "\U0010ffff" * 20],
    FieldType.PORT: [0, 65535],
}


@pytest.fixture(scope="module", autouse=True)
def java() -> None:
    """Starts the JVM, which compresses strings by symbols."""
    jvm.start_jvm(load_settings().jars)


def values_of(kind: FieldType) -> st.SearchStrategy[Any]:
    """Values that now and then repeat."""
    known = st.sampled_from(EXTREMES[kind]) if kind in EXTREMES else VALUES[kind]
    return st.one_of(st.none(), known, VALUES[kind])


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("indexed", [False, True])
@given(data=st.data(), codec=codecs)
@settings(max_examples=60)
def test_columns_come_back(kind: FieldType, indexed: bool, data: st.DataObject, codec: Compression) -> None:
    field = Field("f", kind, (VALUE_INDEX,) if indexed else ())
    drawn = data.draw(st.lists(values_of(kind), max_size=12)) * data.draw(st.sampled_from([1, 1, 30]))
    column = pa.array([to_arrow(v) for v in drawn], field.arrow)
    column = column.slice(data.draw(st.integers(0, len(drawn))))
    vector = encode_vector(field, column, codec)
    if column.null_count == len(column):
        assert vector is None
        return
    assert vector is not None
    decoded = decode_vector(field, vector)
    decoded.validate(full=True)
    assert decoded.equals(column)
    assert count_rows(vector) == len(column)
    encoded = sorted(encode_value(kind, v) for v in drawn[len(drawn) - len(column) :] if v is not None)
    low, high = (int.from_bytes(vector[at : at + 2], "little") for at in (20, 22))
    assert vector[24 : 24 + low] == encoded[0][:64] and vector[24 + low : 24 + low + high] == encoded[-1][:64]
    assert vector[4] & 2 and bool(vector[4] & 4) == (len(encoded[-1]) > 64)


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data(), codec=codecs)
@settings(max_examples=60)
def test_lists_come_back(kind: FieldType, data: st.DataObject, codec: Compression) -> None:
    field = Field("f", FieldType.LIST, items=kind)
    drawn = data.draw(st.lists(st.none() | st.lists(values_of(kind), max_size=4), max_size=10))
    rows = [None if v is None else [None if e is None else to_arrow(e) for e in v] for v in drawn]
    column = pa.array(rows, field.arrow).slice(data.draw(st.integers(0, len(rows))))
    vector = encode_vector(field, column, codec)
    if column.null_count == len(column):
        assert vector is None
        return
    assert vector is not None
    decoded = decode_vector(field, vector)
    decoded.validate(full=True)
    assert decoded.to_pylist() == column.to_pylist() and decoded.type == field.arrow
    rest = [elements for elements in drawn[len(drawn) - len(column) :] if elements is not None]
    encoded = [encode_value(kind, e) for elements in rest for e in elements if e is not None]
    assert bool(vector[4] & 2) == bool(encoded)
    if encoded:
        low, high = (int.from_bytes(vector[at : at + 2], "little") for at in (20, 22))
        assert vector[24 : 24 + low] == min(encoded)[:64] and vector[24 + low : 24 + low + high] == max(encoded)[:64]
        assert bool(vector[4] & 4) == (len(max(encoded)) > 64)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("field", [Field("t", FieldType.TIME), Field("n", FieldType.INT)], ids=lambda f: f.name)
def test_sorted_numbers_are_small(field: Field, codec: Compression) -> None:
    rng = np.random.default_rng(1)
    numbers = np.cumsum(rng.integers(0, 200, 8192))[::-1] + 1_700_000_000_000_000
    vector = encode_vector(field, pa.array(numbers).cast(field.arrow), codec)
    anchors = 8192 // 128 * 8 if codec == "packed" else 0
    assert vector is not None and len(vector) <= 8192 + 64 + anchors
    assert vector[7] == 1
    assert decode_vector(field, vector).cast(pa.int64()).to_numpy().tolist() == numbers.tolist()


def test_the_smaller_form_is_taken() -> None:
    def form(values: list[Any], kind: FieldType) -> tuple[int, int]:
        vector = encode_vector(Field("f", kind), pa.array(values, Field("f", kind).arrow), "none")
        assert vector is not None
        return vector[2], vector[6]

    assert form(["one", "two"] * 100, FieldType.STRING) == (1, 1)
    assert form([f"word {i:06d}" for i in range(2000)], FieldType.STRING) == (2, 0)
    assert form([200, 404, 503] * 100, FieldType.INT) == (1, 1)
    assert form([i * i for i in range(200)], FieldType.INT) == (3, 2)
    assert form([7] * 10, FieldType.INT) == (3, 1)
    assert form([True, None], FieldType.BOOL) == (3, 1)


def test_a_dictionary_of_many_has_wide_codes() -> None:
    field = Field("f", FieldType.STRING, indexes=(VALUE_INDEX,))
    for count in (255, 256, 65_535, 65_536):
        words = [f"word {i:x}" for i in range(count)] * 3 + [None]
        vector = encode_vector(field, pa.array(words), "none")
        assert vector is not None and vector[2] == 1
        assert decode_vector(field, vector).to_pylist() == words


def test_an_index_counts_a_value_once_an_event() -> None:
    field = Field("f", FieldType.LIST, indexes=(VALUE_INDEX,), items=FieldType.STRING)
    column = pa.array([["a", "a", None, "b"], None, [], ["b"]], field.arrow)
    values, codes, events = make_column(field, column, "zstd").index_events()
    assert [(values[int(c)].as_py(), e) for c, e in zip(codes, events.tolist(), strict=True)] == [
        (b"a", 0),
        (b"b", 0),
        (b"b", 3),
    ]


@cache
def samples() -> list[tuple[Field, bytes]]:
    columns: list[tuple[Field, list[Any]]] = [
        (Field("words", FieldType.STRING), ["one", None, "two"] * 20),
        (Field("text", FieldType.STRING), ["first", "second", None]),
        (Field("numbers", FieldType.INT), [1, 5, None, 70_000]),
        (Field("sorted", FieldType.INT), list(range(10_000, 10_900, 3))),
        (Field("tags", FieldType.LIST, items=FieldType.STRING), [["x", None], None, ["y", "x"]]),
        (Field("ip", FieldType.IP), ["10.0.0.1", "::1"] * 3),
        (Field("long", FieldType.STRING), [f"/path/of/{i % 70}/index.html?{i % 3}" for i in range(90)]),
    ]
    found = []
    for codec in CODECS:
        for field, values in columns:
            vector = encode_vector(field, pa.array(values, field.arrow), codec)
            assert vector is not None
            found.append((field, vector))
    return found


def test_every_flipped_byte_is_refused() -> None:
    for field, vector in samples():
        for at in range(len(vector)):
            for flip in (0x01, 0x80, 0xFF):
                damaged = bytearray(vector)
                damaged[at] ^= flip
                with pytest.raises(StoreError, match="damaged"):
                    decode_vector(field, bytes(damaged))


def test_every_cut_is_refused() -> None:
    for field, vector in samples():
        for size in range(len(vector)):
            with pytest.raises(StoreError, match="damaged"):
                decode_vector(field, vector[:size])
        with pytest.raises(StoreError, match="damaged"):
            decode_vector(field, vector + b"\x00")


@given(st.data())
@settings(max_examples=1500)
def test_a_wrong_vector_with_a_right_checksum_breaks_nothing(data: st.DataObject) -> None:
    field, vector = data.draw(st.sampled_from(samples()))
    wrong = bytearray(vector)
    for _ in range(data.draw(st.integers(1, 3))):
        wrong[data.draw(st.integers(0, len(wrong) - 1))] = data.draw(st.integers(0, 255))
    wrong[16:20] = zlib.crc32(wrong[20:], zlib.crc32(wrong[:16])).to_bytes(4, "little")
    with contextlib.suppress(WatchfloorError):
        decode_vector(field, bytes(wrong)).validate(full=True)


def make_paths(count: int) -> list[str | None]:
    """Returns different texts that have much in common, some of them empty or missing."""
    rng = np.random.default_rng(count)
    words = ["static", "img", "wp-login.php", "api/v1", "Zürich", "\U0001f512", "\xff"]
    drawn = [words[i] for i in rng.integers(0, len(words), 3 * count)]
    texts: list[str | None] = [f"/{'/'.join(drawn[3 * i : 3 * i + 3])}/{i * 7919 % count}" for i in range(count)]
    texts[3], texts[5] = None, ""
    return texts


@pytest.mark.parametrize("indexed", [False, True])
def test_strings_are_compressed_by_symbols(indexed: bool) -> None:
    field = Field("path", FieldType.STRING, (VALUE_INDEX,) if indexed else ())
    values = make_paths(3000)
    column = make_column(field, pa.array(values, field.arrow), "packed")
    events = np.arange(len(values))
    packed, plain = column.encode_events(events), encode_vector(field, pa.array(values, field.arrow), "none")
    assert packed is not None and plain is not None and packed[1] == 2 and packed[3] == 0
    assert len(packed) < 0.6 * len(plain)
    assert decode_vector(field, packed).to_pylist() == values
    assert column.encode_events(events) == packed, "the same events make the same bytes"
    few = np.array([2999, 3, 0, 17])
    part = column.encode_events(few)
    assert part is not None and decode_vector(field, part).to_pylist() == [values[i] for i in few]


def read_symbols(vector: bytes) -> bytes:
    """Returns the table of symbols of a packed plain vector without nulls."""
    payload = read_header(memoryview(vector)).payload
    assert payload[0] == 1, "compressed by symbols"
    stored = payload[6:]  # behind the kind, a width and a length
    table = read_table(stored)
    assert table is not None
    return bytes(stored[: table[2]])


def test_slabs_share_a_table_of_symbols_while_it_serves_them() -> None:
    field, packer = Field("path", FieldType.STRING), Packer("packed")
    paths = [f"/static/img/{i * 7919 % 5000}/logo.png" for i in range(5000)]
    others = [f"{i * 104729 % 10**9:09d} GET?session={i:x}&ÄÖÜ" for i in range(5000)]
    tables = []
    for values in (paths[:2500], paths[2500:], others):
        vector = make_column(field, pa.array(values, field.arrow), "packed", packer).encode_events(
            np.arange(len(values))
        )
        assert vector is not None and decode_vector(field, vector).to_pylist() == values
        tables.append(read_symbols(vector))
    assert tables[0] == tables[1] != tables[2]


def test_what_repeats_over_long_distances_is_compressed_as_a_whole() -> None:
    field = Field("message", FieldType.STRING)
    text = "".join(chr(33 + i * i % 90) for i in range(900))
    values = [f"{text}{i}" for i in range(200)]
    vector = encode_vector(field, pa.array(values), "packed")
    assert vector is not None and (vector[1], vector[3]) == (1, 2) and len(vector) < 20_000
    assert decode_vector(field, vector).to_pylist() == values


def test_very_long_texts_are_compressed_as_a_whole() -> None:
    field = Field("message", FieldType.STRING)
    values = [f"{i:x}" * 130_000 for i in range(16, 90)]
    vector = encode_vector(field, pa.array(values), "packed")
    assert vector is not None and (vector[1], vector[3]) == (1, 2)
    assert decode_vector(field, vector).to_pylist() == values


@given(
    st.lists(
        st.binary(max_size=40) | st.sampled_from([b"\xff", b"\xff\xff\xff", b"", b"\xffa\xff"]), min_size=1, max_size=30
    )
)
@settings(max_examples=200)
def test_any_bytes_come_back_from_symbols(drawn: list[bytes]) -> None:
    values = (drawn * (4096 // max(1, sum(map(len, drawn)))))[:2000] if any(drawn) else drawn
    lengths = np.array([len(v) for v in values], np.int64)
    data = b"".join(values)
    compressed = StringCompressor(data, lengths).compress(data, lengths)
    table = read_table(memoryview(compressed.table))
    assert table is not None and table[2] == len(compressed.table)
    decoded = decompress(table, compressed.lengths, memoryview(compressed.data))
    assert decoded is not None
    assert decoded[0].tolist() == lengths.tolist() and bytes(decoded[1]) == data


@given(st.integers(0, 64), st.data())
@settings(max_examples=200)
def test_packed_numbers_come_back(width: int, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.integers(0, (1 << width) - 1), max_size=40))
    stored = 64 if width > 56 else width
    packed = pack_bits(np.array(drawn, np.uint64), stored)
    assert len(packed) == count_packed_bytes(len(drawn), stored)
    assert unpack_bits(memoryview(packed), len(drawn), stored).tolist() == drawn


def test_the_wrong_field_is_refused() -> None:
    vector = encode_vector(Field("f", FieldType.INT), pa.array([1, 2]))
    assert vector is not None
    for field in (Field("f", FieldType.PORT), Field("f", FieldType.STRING), Field("f", FieldType.LIST)):
        with pytest.raises(StoreError, match="damaged"):
            decode_vector(field, vector)
    with pytest.raises(StoreError, match="bytes were expected"):
        decode_binary(vector)
