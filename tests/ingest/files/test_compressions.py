"""Every compression gives back what was put into it, and of a file that is cut off or damaged all that can be read.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from blake3 import blake3
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from watchfloor.ingest.files.compressions.frame_reader import UNPACKERS, FrameReader
from watchfloor.ingest.files.compressions.table import find_compression
from watchfloor.ingest.files.file_scan import WHOLE, scan_file
from watchfloor.ingest.files.lines import read_chunks

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "bzip2": bz2.compress,
    "gzip": gzip.compress,
    "lz4": lz4.frame.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
LINES = b"".join(
    b'{"number": %d, "text": "%s"}\n' % (n, hashlib.sha256(b"%d" % n).hexdigest().encode()) for n in range(9_000)
)
MAGICS = {name: pack(b"a line\n" * 9)[:10] for name, pack in PACKERS.items()}
FRAMES = st.lists(st.one_of(st.just(b""), st.binary(max_size=60), st.just(b"a line\n" * 400)), min_size=1, max_size=4)
COMPRESSIONS = pytest.mark.parametrize("name", sorted(PACKERS))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed") / "a.log"


def read(path: Path) -> tuple[bytes, list[str]]:
    """Returns the lines of a file, and what is wrong with it."""
    chunks = list(read_chunks(path))
    faults = [rejected for chunk in chunks for rejected in chunk.rejected]
    return b"".join(chunk.data for chunk in chunks), [fault.reason for fault in faults]


@COMPRESSIONS
@settings(max_examples=60, deadline=None)
@given(frames=FRAMES, padding=st.sampled_from([b"", b"\0" * 4, b"\0" * 600]))
def test_what_was_packed_comes_back_frame_after_frame(
    path: Path, name: str, frames: list[bytes], padding: bytes
) -> None:
    content = b"".join(frames)
    assume(not content.startswith(b"ElfFile\0"))  # what begins so is a file of Windows events
    path.write_bytes(b"".join(PACKERS[name](frame) + padding for frame in frames))
    scan = scan_file(path, 10)
    assert scan.file_id == blake3(content).digest(length=16)
    assert (scan.compressed, scan.damaged, scan.length, scan.split) == (True, False, len(content), WHOLE)
    assert read(path) == (content, [])


@COMPRESSIONS
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98, 1.0])
def test_a_file_that_is_cut_off_gives_a_beginning_of_whole_lines_and_says_so(
    path: Path, name: str, share: float
) -> None:
    packed = PACKERS[name](LINES)
    path.write_bytes(packed[: min(max(int(len(packed) * share), 16), len(packed) - 1)])
    lines, (fault,) = read(path)
    assert LINES.startswith(lines) and (not lines or lines.endswith(b"\n"))
    assert f"the {name} stream ends early at byte" in fault
    assert scan_file(path, 10).damaged
    if share == 1.0:
        assert lines == LINES
    elif share == 0.98 and name != "bzip2":  # whose blocks are as long as this file
        assert len(lines) > len(LINES) // 2


@COMPRESSIONS
def test_a_damaged_file_gives_a_beginning_of_the_lines_and_says_so(path: Path, name: str) -> None:
    packed = bytearray(PACKERS[name](LINES) + PACKERS[name](LINES))
    place = len(packed) * 3 // 4
    packed[place : place + 40] = b"\xa5" * 40
    path.write_bytes(packed)
    lines, faults = read(path)
    # A changed stream may become other bytes before its checksum tells that it was changed.
    assert lines.startswith(LINES[: len(LINES) - (1 << 20)]) and len(faults) == 1
    assert f"the {name} stream is damaged" in faults[0]
    assert scan_file(path, 10).damaged


@COMPRESSIONS
def test_a_wrong_checksum_at_the_end_loses_no_line(path: Path, name: str) -> None:
    if name == "lz4":
        packed = bytearray(lz4.frame.compress(LINES, content_checksum=True))
        packed[-1] ^= 0xFF
    else:
        packed = bytearray(PACKERS[name](LINES))
        packed[-5 if name in ("gzip", "bzip2") else -1 if name == "zstd" else -10] ^= 0xFF
    path.write_bytes(packed)
    lines, faults = read(path)
    assert lines == LINES
    assert len(faults) == 1 and f"the {name} stream is damaged" in faults[0]


@pytest.mark.parametrize("name", sorted(UNPACKERS))
@settings(max_examples=40, deadline=None)
@given(data=st.data(), read_bytes=st.integers(1, 3_000), block_bytes=st.integers(1, 5_000))
def test_content_does_not_depend_on_the_pieces_that_are_read(
    name: str, data: st.DataObject, read_bytes: int, block_bytes: int
) -> None:
    packed = PACKERS[name](LINES[:20_000])
    match data.draw(st.sampled_from(["whole", "cut", "altered"])):
        case "cut":
            packed = packed[: data.draw(st.integers(1, len(packed)))]
        case "altered":
            place = data.draw(st.integers(0, len(packed) - 1))
            packed = packed[:place] + bytes([data.draw(st.integers(0, 255))]) + packed[place + 1 :]

    def unpack(read_bytes: int, block_bytes: int) -> tuple[bytes, str]:
        file = io.BytesIO(packed)
        reader = FrameReader(name, lambda: file.read(read_bytes), block_bytes)
        blocks = list(reader)
        assert all(0 < len(block) <= block_bytes for block in blocks)
        return b"".join(blocks), reader.fault

    assert unpack(read_bytes, block_bytes) == unpack(1 << 20, 1 << 20)


@COMPRESSIONS
def test_a_bomb_is_read_in_bounded_blocks(path: Path, name: str) -> None:
    path.write_bytes(PACKERS[name](b"\n" * (48 << 20)))
    assert path.stat().st_size < 1 << 20
    assert max(len(chunk.data) for chunk in read_chunks(path, chunk_bytes=1 << 18)) <= 1 << 18


@COMPRESSIONS
@settings(max_examples=100, deadline=None)
@given(junk=st.binary(max_size=300))
def test_anything_behind_the_first_bytes_gives_no_exception(path: Path, name: str, junk: bytes) -> None:
    magic = MAGICS[name]
    path.write_bytes(magic + junk)
    assert find_compression(magic) is not None
    read(path)


def test_a_zstd_file_may_begin_with_a_frame_to_skip(path: Path) -> None:
    path.write_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0\x99\0\0\0" + PACKERS["zstd"](b"one\n"))
    assert read(path) == (b"one\n", [])


def test_a_zstd_file_that_asks_for_too_much_memory_is_told(path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=29, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path.write_bytes(packer.compress(b"one\n") + packer.flush())
    lines, (fault,) = read(path)
    assert lines == b"" and "the zstd stream is damaged (" in fault and "memory" in fault
