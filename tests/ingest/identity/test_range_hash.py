"""The hash of an item's bytes is that of its range, whatever its chunks leave out.

In `make test`: it is short, without a stack.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchfloor.ingest.files.content import open_content
from watchfloor.ingest.files.file_scan import hash_ranges, items_of, scan_file
from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.reading.range_hash import RangeHash
from watchfloor.schema.errors import InputFileError

SEVERAL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
LINES = st.lists(st.binary(max_size=12).map(lambda text: b"l" + text.replace(b"\n", b"") + b"\n"), min_size=1)


def digest(data: bytes) -> str:
    return blake3(data).hexdigest(length=16)


@SEVERAL
@given(lines=LINES, limit=st.integers(4, 20), chunk=st.integers(4, 60), split=st.integers(1, 80))
def test_chunks_give_the_hash_of_the_range(
    tmp_path: Path, lines: list[bytes], limit: int, chunk: int, split: int
) -> None:
    data = b"".join(lines)
    (tmp_path / "a.log").write_bytes(data)
    items = items_of(scan_file(tmp_path / "a.log", split), str(tmp_path / "a.log"), "f", b"", "t")
    (tmp_path / "a.log").write_bytes(data + b"and more\n")
    with (tmp_path / "a.log").open("rb", buffering=0) as file:
        for item in items:
            found = RangeHash(item, file)
            for part in read_chunks(file, item.start, item.end, chunk, limit, unpack=False):
                found.add(part)
            assert found.finish() == digest(data[item.start : item.end])


@SEVERAL
@given(data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=8), packed=st.booleans())
def test_ranges_of_a_file_are_hashed_each(tmp_path: Path, data: bytes, cuts: list[int], packed: bool) -> None:
    (tmp_path / "a.log").write_bytes(gzip.compress(b"l" + data) if packed else b"l" + data)
    ends = sorted({min(cut, len(data) + 1) for cut in cuts})
    ranges = list(zip(ends[::2], ends[1::2], strict=False))
    with (tmp_path / "a.log").open("rb", buffering=0) as file:
        assert (open_content(file, 1 << 20) is None) == (not packed)
        assert hash_ranges(file, ranges) == [digest((b"l" + data)[start:end]) for start, end in ranges]


def test_a_file_that_was_cut_off_meanwhile_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"a\nb\n")
    (item,) = items_of(scan_file(tmp_path / "a.log", 100), str(tmp_path / "a.log"), "f", b"", "t")
    (tmp_path / "a.log").write_bytes(b"a\n")
    with (tmp_path / "a.log").open("rb", buffering=0) as file, pytest.raises(InputFileError, match="was cut off"):
        RangeHash(item, file).finish()
