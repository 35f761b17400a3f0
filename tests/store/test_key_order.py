"""Entries sorted by their keys are the same entries in the order of their bytes.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.store.encoding import key_order
from watchfloor.store.encoding.key_order import sort_entries, sort_rows

Entry = tuple[bytes, bytes, bytes, bytes, bytes]
"""Row, family, qualifier, visibility, value."""
# Of one width and of several, with the bytes that a signed or a zero-ended comparison would get wrong.
FIXED = st.binary(min_size=9, max_size=9)
SOME = st.one_of(st.sampled_from([b"", b"\x00", b"\x00\x00", b"a", b"a\x00", b"\x7f", b"\x80", b"\xff"]), st.binary())


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_order, "SLICE_BYTES", 100)


def long_batch(entries: Sequence[Entry], dictionaries: bool) -> pa.RecordBatch:
    columns = [pa.array(column, pa.binary()) for column in zip(*entries, strict=True)]
    if dictionaries:
        columns = [column.dictionary_encode() for column in columns[:4]] + columns[4:]
    return pa.RecordBatch.from_arrays(columns, names=["row", "family", "qualifier", "visibility", "value"])


def entries_of(batches: Sequence[pa.RecordBatch]) -> list[Entry]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@given(st.data())
def test_long_batches_come_out_sorted(data: st.DataObject) -> None:
    row, qualifier = (data.draw(st.sampled_from([FIXED, SOME])) for _ in range(2))
    entry = st.tuples(row, st.sampled_from([b"", b"h", b"d"]), qualifier, st.sampled_from([b"", b"a|b"]), SOME)
    given_batches = data.draw(st.lists(st.lists(entry, min_size=1, max_size=30), min_size=1, max_size=4))
    dictionaries = data.draw(st.booleans())
    found = entries_of(list(sort_entries([long_batch(entries, dictionaries) for entries in given_batches])))
    keys = [entry[:4] for entry in found]
    assert keys == sorted(keys)
    assert Counter(found) == Counter(entry for entries in given_batches for entry in entries)


@given(st.data())
def test_wide_batches_come_out_sorted(data: st.DataObject) -> None:
    """Batches have some columns each; one name may come with two labels and in two families."""
    names = st.tuples(st.sampled_from(["", "zone"]), st.sampled_from(["row", "", "b", "é"]), st.sampled_from(["", "x"]))
    expected: Counter[Entry] = Counter()
    batches = []
    for _ in range(data.draw(st.integers(1, 4))):
        rows = data.draw(st.lists(data.draw(st.sampled_from([FIXED, SOME])), min_size=1, max_size=20))
        fields, columns = [pa.field("row", pa.binary())], [pa.array(rows, pa.binary())]
        for family, name, label in data.draw(st.lists(names, unique=True, max_size=5)):
            values = data.draw(st.lists(st.none() | SOME, min_size=len(rows), max_size=len(rows)))
            metadata = {"family": family, "qualifier": name, "visibility": label}
            fields.append(pa.field(name, pa.binary(), metadata=metadata))
            columns.append(pa.array(values, pa.binary()))
            expected.update(
                (row, family.encode(), name.encode(), label.encode(), value)
                for row, value in zip(rows, values, strict=True)
                if value is not None
            )
        batches.append(pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)))
    found: list[Entry] = []
    for batch in sort_rows(list(batches)):
        for place in range(len(batch)):
            for field, column in zip(list(batch.schema)[1:], batch.columns[1:], strict=True):
                if column[place].is_valid:
                    cell = tuple(field.metadata[part] for part in (b"family", b"qualifier", b"visibility"))
                    found.append((batch.column(0)[place].as_py(), *cell, column[place].as_py()))
    assert Counter(found) == expected
    families = [entry[1] for entry in found]
    assert families == sorted(families, reverse=True), "each family stands together, the one without a name last"
    for family in set(families):
        # Two rows of the same name stand beside each other, not cell by cell: layouts never make them.
        keys = [(entry[0], *entry[1:4]) for entry in found if entry[1] == family]
        assert [key[0] for key in keys] == sorted(key[0] for key in keys)
        if len({row for batch in batches for row in batch.column(0).to_pylist()}) == sum(map(len, batches)):
            assert keys == sorted(keys)
