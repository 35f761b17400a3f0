"""All that can be read of a gzip file is read, whatever is wrong with the rest, which is said.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.ingest.files.compressions.gzip_reader import GZIP_MAGIC, GzipReader
from watchfloor.ingest.files.file_scan import WHOLE, scan_file
from watchfloor.ingest.files.lines import read_chunks

BLOCK = 1 << 20
MEMBERS = st.lists(st.one_of(st.just(b""), st.binary(max_size=60), st.just(b"a line\n" * 400)), min_size=1, max_size=4)
PADDING = st.sampled_from([b"", b"\0", b"\0" * 600])
TAILS = st.one_of(st.just(b""), PADDING, st.binary(min_size=1, max_size=20), st.just(GZIP_MAGIC + b"\x08"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gzip") / "a.log.gz"


@st.composite
def gzip_files(draw: st.DrawFn) -> bytes:
    """Draws files of one member or several, empty ones too, padded, with something behind them, cut off, or altered."""
    data = b"".join(gzip.compress(member, mtime=0) + draw(PADDING) for member in draw(MEMBERS)) + draw(TAILS)
    match draw(st.sampled_from(["whole", "whole", "cut", "altered"])):
        case "cut":
            data = data[: draw(st.integers(2, len(data)))]
        case "altered":
            place = draw(st.integers(2, len(data) - 1))
            data = data[:place] + bytes([draw(st.integers(0, 255))]) + data[place + 1 :]
    return data


def inflate_bytewise(data: bytes) -> tuple[bytes, bool]:
    """Returns all that zlib makes of a file that it is fed byte by byte, and whether the file is damaged."""
    content, inflater = b"", None
    for byte in (data[at : at + 1] for at in range(len(data))):
        if inflater is None:
            if byte == b"\0":
                continue
            inflater = zlib.decompressobj(wbits=31)
        try:
            content += inflater.decompress(byte)
        except zlib.error:
            return content, True
        if inflater.eof:
            inflater = None
    return content, inflater is not None


@settings(max_examples=300)
@given(data=gzip_files())
def test_all_that_can_be_read_is_read_and_the_rest_is_said(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    content, damaged = inflate_bytewise(data)
    scan = scan_file(path, 10)
    identity = blake3(content + (b"\x00damaged" if damaged else b"")).digest(length=16)
    assert (scan.file_id, scan.length, scan.damaged) == (identity, len(content), damaged)
    assert (scan.split, scan.ranges) == (WHOLE, ((0, len(content)),) if content else ())

    chunks = list(read_chunks(path))
    faults = [rejected for chunk in chunks for rejected in chunk.rejected]
    lines = b"".join(chunk.data for chunk in chunks)
    assert len(faults) == damaged
    assert lines + b"".join(fault.raw for fault in faults) == content
    assert all("gzip stream" in fault.reason and fault.offset == len(lines) for fault in faults)
    assert not damaged or not lines or lines.endswith(b"\n")


@settings(max_examples=200)
@given(data=gzip_files(), read_bytes=st.integers(1, 40), block_bytes=st.integers(1, 40))
def test_content_does_not_depend_on_the_pieces_that_are_read(data: bytes, read_bytes: int, block_bytes: int) -> None:
    file = io.BytesIO(data)
    reader = GzipReader(lambda: file.read(read_bytes), block_bytes)

    def blocks() -> Iterator[bytes]:
        for block in reader:
            assert 0 < len(block) <= block_bytes
            yield block

    assert (b"".join(blocks()), bool(reader.fault)) == inflate_bytewise(data)


@pytest.mark.parametrize("trailer", ["checksum", "length"])
def test_a_wrong_trailer_loses_no_line(path: Path, trailer: str) -> None:
    lines = b"".join(b'{"number": %d}\n' % number for number in range(9_000))
    packed = bytearray(gzip.compress(lines))
    packed[-8 if trailer == "checksum" else -1] ^= 0xFF
    path.write_bytes(packed)
    assert scan_file(path, 10).ranges == ((0, len(lines)),)
    chunks = list(read_chunks(path))
    assert b"".join(chunk.data for chunk in chunks) == lines
    (fault,) = [rejected for chunk in chunks for rejected in chunk.rejected]
    assert (fault.offset, fault.raw) == (len(lines), b"") and "damaged" in fault.reason
