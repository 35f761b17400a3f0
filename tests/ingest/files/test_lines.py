"""Files are read as chunks of whole lines.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import random
import zlib
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.ingest.columns.rows import split_rows, utf8_rows
from watchfloor.ingest.files.lines import Chunk, RejectedLine, read_chunks, split_chunk
from watchfloor.schema.errors import InputFileError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


def lines_of(chunks: list[Chunk]) -> list[tuple[int, bytes]]:
    """Returns offset and bytes of every line, without blank ones."""
    out = []
    for chunk in chunks:
        rows = split_rows(chunk)
        out += [(int(rows.offsets[i]), rows.line_at(i)) for i in range(len(rows))]
    return out


def expected(data: bytes, limit: int) -> tuple[list[tuple[int, bytes]], list[tuple[int, int]]]:
    """Returns the lines within the limit, and (offset, length) of those over it."""
    good, long, offset = [], [], 0
    for line in data.split(b"\n"):
        if len(line) > limit:
            long.append((offset, len(line)))
        elif line.strip(b" \t\r"):
            good.append((offset, line[:-1] if line.endswith(b"\r") else line))
        offset += len(line) + 1
    return good, long


TEXTS = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b" ", b"0123456789" * 4, b"\n\n", b"\t\n"]), max_size=40)


@given(TEXTS.map(b"".join), st.integers(1, 64), st.integers(1, 50), st.booleans())
def test_any_chunk_size_gives_the_same_lines(folder: Path, data: bytes, block: int, limit: int, zipped: bool) -> None:
    path = folder / "any.log"
    path.write_bytes(gzip.compress(data, 1) if zipped else data)
    chunks = list(read_chunks(path, chunk_bytes=block, max_line_bytes=limit))
    good, long = expected(data, limit)
    assert lines_of(chunks) == good
    rejected = [r for chunk in chunks for r in chunk.rejected]
    assert [r.offset for r in rejected] == [offset for offset, _ in long]
    for fault, (offset, length) in zip(rejected, long, strict=True):
        assert fault.raw == data[offset : offset + limit]
        assert f"{length} bytes long" in fault.reason


@given(TEXTS.map(b"".join), st.integers(1, 64), st.data())
def test_ranges_split_at_lines_cover_a_file_once(folder: Path, data: bytes, block: int, draw: st.DataObject) -> None:
    path = folder / "ranges.log"
    path.write_bytes(data)
    begins = [0] + [i + 1 for i, byte in enumerate(data) if byte == 10]
    cuts = sorted({0, len(data), *draw.draw(st.lists(st.sampled_from(begins), max_size=4))})
    lines, long = [], []
    for start, end in pairwise(cuts):
        for chunk in read_chunks(path, start, end, chunk_bytes=block, max_line_bytes=15):
            lines += lines_of([chunk])
            long += [r.offset for r in chunk.rejected]
    good, over = expected(data, 15)
    assert lines == good
    assert long == [offset for offset, _ in over]


def test_what_follows_a_long_line_at_the_end_of_a_file_is_read_by_its_own_range_only(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 40 + b"\nab\ncd\n")
    for cut, block in product((41, 44), range(1, 64)):
        chunks = [*read_chunks(path, 0, cut, block, 15), *read_chunks(path, cut, None, block, 15)]
        assert lines_of(chunks) == [(41, b"ab"), (44, b"cd")]


def test_a_range_takes_a_line_that_begins_in_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nthree\n")
    assert lines_of(list(read_chunks(path, 0, 6))) == [(0, b"one"), (4, b"two")]
    assert lines_of(list(read_chunks(path, 8, 9))) == [(8, b"three")]


def test_an_empty_file_has_no_chunks(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    assert list(read_chunks(tmp_path / "empty")) == []
    assert list(read_chunks(tmp_path / "empty.gz")) == []


def test_a_line_of_10_megabytes_is_streamed_past(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"before\n" + b"x" * (10 << 20) + b"\nafter\n")
    chunks = list(read_chunks(path, chunk_bytes=1 << 16))
    assert lines_of(chunks) == [(0, b"before"), ((10 << 20) + 8, b"after")]
    (fault,) = [r for chunk in chunks for r in chunk.rejected]
    assert fault.offset == 7
    assert len(fault.raw) == 1 << 20
    assert fault.reason == f"the line is {10 << 20} bytes long; the limit is {1 << 20}"


@pytest.mark.parametrize("block", [1 << 10, 4 << 20])
def test_a_truncated_gzip_gives_what_is_there_and_says_so(tmp_path: Path, block: int) -> None:
    rng = random.Random(7)
    data = b"".join(b"%d %d\n" % (i, rng.randrange(10**9)) for i in range(20_000))
    packed = gzip.compress(data)
    path = tmp_path / "cut.gz"
    path.write_bytes(packed[: len(packed) // 2])
    chunks = list(read_chunks(path, chunk_bytes=block))
    lines = lines_of(chunks)
    assert 1000 < len(lines) < 20_000
    assert b"".join(line + b"\n" for _, line in lines) == data[: chunks[-1].offset]
    (fault,) = [r for chunk in chunks for r in chunk.rejected]
    assert "ends early" in fault.reason
    assert data[fault.offset :].startswith(fault.raw) and b"\n" not in fault.raw


def test_a_damaged_gzip_says_so(tmp_path: Path) -> None:
    data = bytes(random.Random(3).choices(b"abcdef\n", k=200_000))
    packed = bytearray(gzip.compress(data))
    packed[-6] ^= 0xFF  # its checksum
    path = tmp_path / "bad.gz"
    path.write_bytes(packed)
    (fault,) = [r for chunk in read_chunks(path) for r in chunk.rejected]
    assert "damaged" in fault.reason
    path.write_bytes(gzip.compress(b"one\n") + b"no gzip")
    chunks = list(read_chunks(path))
    assert lines_of(chunks) == [(0, b"one")]
    assert [r.offset for chunk in chunks for r in chunk.rejected] == [4]


def test_gzip_members_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "members.gz"
    path.write_bytes(gzip.compress(b"one\ntw") + gzip.compress(b"o\n") + b"\0" * 512 + gzip.compress(b"three"))
    assert lines_of(list(read_chunks(path, chunk_bytes=5))) == [(0, b"one"), (4, b"two"), (8, b"three")]


def test_what_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"none\.log: cannot be read: No such file"):
        list(read_chunks(tmp_path / "none.log"))
    with pytest.raises(InputFileError, match="a folder"):
        list(read_chunks(tmp_path))
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x\n"))
    with pytest.raises(InputFileError, match="no byte ranges"):
        list(read_chunks(tmp_path / "a.gz", 0, 1))


def test_a_gzip_bomb_stays_within_chunks(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    packer = zlib.compressobj(9, wbits=31)
    block = b"\n" * (1 << 20)
    path.write_bytes(b"".join(packer.compress(block) for _ in range(64)) + packer.flush())
    assert max(len(chunk.data) for chunk in read_chunks(path, chunk_bytes=1 << 18)) <= 1 << 18


def test_lines_that_are_no_utf8_name_the_byte() -> None:
    rows, bad = utf8_rows(split_rows(Chunk(100, "fine é\nbad \ufffd".encode() + b"\xc3(\nlast \xf0\x9f\n")))
    assert [rows.line_at(i) for i in range(len(rows))] == ["fine é".encode()]
    assert [r.offset for r in bad] == [108, 118]
    assert "byte 0xc3 at position 7 of the line" in bad[0].reason
    assert bad[0] == RejectedLine(108, bad[0].reason, "bad \ufffd".encode() + b"\xc3(")


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    rows = split_rows(Chunk(0, b"\xef\xbb\xbfone\ntwo\n"))
    assert [rows.line_at(i) for i in range(2)] == [b"one", b"two"]


@settings(max_examples=100)
@given(data=st.binary(max_size=60).map(lambda data: data.replace(b"a", b"\n")), most=st.integers(1, 5))
def test_a_chunk_is_split_at_line_ends(data: bytes, most: int) -> None:
    rejected = (RejectedLine(100, "too long", b""),)
    parts = list(split_chunk(Chunk(7, data, rejected), most))
    assert b"".join(part.data for part in parts) == data
    assert [r for part in parts for r in part.rejected] == list(rejected)
    at = 7
    for part in parts:
        assert part.offset == at and part.data.count(b"\n") <= most
        at += len(part.data)
    assert all(part.data.endswith(b"\n") for part in parts[:-1])
