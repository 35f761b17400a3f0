"""The one reader of gzip files gives the identity, ranges and lines of the two readers that it replaced.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.ingest.files.file_scan import WHOLE, scan_file
from watchfloor.ingest.files.gzip_reader import GZIP_MAGIC, GzipReader
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


def inflate_as_before(data: bytes, read_bytes: int) -> tuple[bytes, bool]:
    """Returns a file's content, and whether it is damaged, by the rules that the ledgers of all stores were made by."""
    file, content, pending = io.BytesIO(data), b"", b""
    inflater = zlib.decompressobj(wbits=31)
    while True:
        pending = pending or file.read(read_bytes)
        if inflater.eof:
            pending = pending.lstrip(b"\x00")
            if not pending:
                if more := file.read(read_bytes):
                    pending = more
                    continue
                return content, False
            inflater = zlib.decompressobj(wbits=31)
        if not pending:
            return content, True
        try:
            content += inflater.decompress(pending, BLOCK)
        except zlib.error:
            return content, True
        pending = inflater.unused_data if inflater.eof else inflater.unconsumed_tail


@settings(max_examples=500)
@given(data=gzip_files())
def test_identity_ranges_and_lines_are_as_before(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    content, damaged = inflate_as_before(data, BLOCK)
    scan = scan_file(path, 10)
    digest = hashlib.blake2b(content + (b"\x00damaged" if damaged else b""), digest_size=16)
    assert (scan.file_id, scan.length, scan.damaged) == (digest.digest(), len(content), damaged)
    assert (scan.split, scan.ranges) == (WHOLE, ((0, len(content)),) if content else ())

    chunks = list(read_chunks(path))
    faults = [rejected for chunk in chunks for rejected in chunk.rejected]
    lines = b"".join(chunk.data for chunk in chunks)
    assert len(faults) == damaged
    assert lines + b"".join(fault.raw for fault in faults) == content
    assert all("gzip stream" in fault.reason and fault.offset == len(lines) for fault in faults)


@settings(max_examples=200)
@given(data=gzip_files(), read_bytes=st.integers(1, 40), block_bytes=st.integers(1, 40))
def test_content_does_not_depend_on_the_pieces_that_are_read(data: bytes, read_bytes: int, block_bytes: int) -> None:
    file = io.BytesIO(data)
    reader = GzipReader(lambda: file.read(read_bytes), block_bytes)

    def blocks() -> Iterator[bytes]:
        for block in reader:
            assert 0 < len(block) <= block_bytes
            yield block

    content, damaged = b"".join(blocks()), bool(reader.fault)
    whole, whole_damaged = inflate_as_before(data, BLOCK)
    assert damaged == whole_damaged
    # What zlib holds back of a stream that breaks off depends on how much it was given at once.
    assert content == whole if not damaged else whole.startswith(content) or content.startswith(whole)
