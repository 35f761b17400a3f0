"""Files become work items with stable identities and ranges, also when they grow.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from watchfloor.ingest.files import file_scan
from watchfloor.ingest.files.compressions.table import find_compression
from watchfloor.ingest.files.containers.json_documents import is_json_document
from watchfloor.ingest.files.file_scan import WHOLE, QueuedMark, check_unchanged, cut_by, cut_like, items_of, scan_file
from watchfloor.ingest.files.open_file import open_log_file
from watchfloor.ingest.files.scan_ahead import ScanAhead
from watchfloor.ingest.intake.intake import choose_item_bytes
from watchfloor.ingest.intake.load import bulk_item_bytes
from watchfloor.ingest.queue.item import BLAKE2B, BLAKE3, WorkItem
from watchfloor.schema.errors import InputFileError, InternalError
from watchfloor.schema.settings.settings import Settings

CLOCK_TICK_NS = 20_000_000
LINES = st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=40)


def content(lines: list[bytes], ends: bool) -> bytes:
    return b"\n".join(lines) + (b"\n" if ends and lines else b"")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("item") / "a.log"


def is_plain(data: bytes) -> bool:
    return find_compression(data) is None and not is_json_document(data)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def one(path: Path, split: int = 1 << 20) -> WorkItem:
    return items_of(scan_file(path, split), str(path), "web.access", b"", "t")[0]


@settings(max_examples=200)
@given(lines=LINES, ends=st.booleans(), split=st.integers(1, 50))
def test_ranges_cover_the_file_and_cut_at_line_ends(file: Path, lines: list[bytes], ends: bool, split: int) -> None:
    data = content(lines, ends)
    assume(is_plain(data))
    scan = scan_file(write(file, data), split)
    assert scan.length == len(data)
    at = 0
    for start, end in scan.ranges:
        assert start == at < end
        assert end == len(data) or data[end - 1 : end] == b"\n"
        # A range is not longer than it must be: without its last line it would be under the size.
        assert data.rfind(b"\n", start, end - 1) + 1 - start < split
        at = end
    assert at == len(data)


@settings(max_examples=100)
@given(
    lines=LINES, more=LINES, ends=st.booleans(), split=st.integers(1, 50), zipped=st.booleans(), old_hash=st.booleans()
)
def test_only_what_was_added_to_a_file_is_new(
    file: Path, lines: list[bytes], more: list[bytes], ends: bool, split: int, zipped: bool, old_hash: bool
) -> None:
    """Also if an earlier version has queued the beginning, and identified it by another hash."""
    old = content(lines, ends)
    data = old + content(more, True)
    assume(is_plain(data))  # not a text that could grow
    digest = BLAKE2B if old_hash else BLAKE3
    first = scan_file(write(file, old), split, digest=digest)
    pack = gzip.compress if zipped else bytes
    grown = scan_file(write(file, pack(data)), split, QueuedMark(first.file_id, first.length, digest))
    assert grown.file_id == scan_file(file, split).file_id
    if old and data != old:
        last_line = old.rfind(b"\n") + 1
        assert (grown.base, grown.before) == (last_line, first.file_id.hex())
        assert [r[0] for r in grown.ranges][:1] == ([last_line] if last_line < len(data) else [])
    else:
        assert (grown.base, grown.before) == (0, "")
    items = items_of(grown, str(file), "f", b"", "t")
    if items:
        with file.open("rb", buffering=0) as opened:
            assert cut_like(opened, scan_file(file, split * 3), items[0]).ranges == grown.ranges


def test_a_file_that_was_replaced_is_all_new(file: Path) -> None:
    first = scan_file(write(file, b"a\nb\n"), 100)
    second = scan_file(write(file, b"c\nd\ne\n"), 100, QueuedMark(first.file_id, first.length))
    assert (second.base, second.before, second.ranges) == (0, "", ((0, 6),))


def test_identity_is_of_the_uncompressed_content(file: Path) -> None:
    plain = scan_file(write(file, b"line\n" * 1000), 100)
    zipped = scan_file(write(file, gzip.compress(b"line\n" * 1000)), 100)
    assert plain.file_id == zipped.file_id
    assert zipped.compressed and zipped.split == WHOLE and zipped.ranges == ((0, 5000),)
    members = scan_file(write(file, gzip.compress(b"line\n" * 400) + gzip.compress(b"line\n" * 600) + b"\0" * 512), 100)
    assert members.file_id == plain.file_id and not members.damaged


def test_a_packed_file_is_cut_as_the_same_file_was_before_it_was_packed(file: Path) -> None:
    data = b"".join(b"%d\n" % n * (n % 7) for n in range(200_000))
    plain = scan_file(write(file, data), 60_000)
    write(file, gzip.compress(data))
    with file.open("rb", buffering=0) as opened:
        zipped = cut_like(opened, scan_file(opened, 9), items_of(plain, str(file), "f", b"", "t")[0])
    assert len(plain.ranges) > 20 and zipped.ranges == plain.ranges and zipped.file_id == plain.file_id


def test_a_line_longer_than_what_is_read_around_a_cut_is_one_range(file: Path) -> None:
    data = b"a\n" + b"x" * 300_000 + b"\nb\nc"
    assert scan_file(write(file, data), 10).ranges == ((0, 300_003), (300_003, 300_006))
    grown = scan_file(file, 10, upto=200_000)
    assert grown.ranges == ((0, 200_000),)
    more = scan_file(file, 10, QueuedMark(grown.file_id, grown.length))
    assert (more.base, more.ranges) == (2, ((2, 300_003), (300_003, 300_006)))


def test_a_scan_ahead_is_that_of_the_file_as_it_is(file: Path) -> None:
    data = b"".join(b"%d\n" % n for n in range(50_000))
    marks = [None, QueuedMark(b"x" * 16, len(data) + 1), QueuedMark(scan_file(write(file, data), 9).file_id, len(data))]
    for mark in marks:
        ahead = ScanAhead(str(file), 1 << 20)
        with open_log_file(str(file)) as opened:
            scan = ahead.take(opened, mark)
            assert scan is not None and cut_by(opened, scan, 9_000) == scan_file(file, 9_000, mark)
            assert ahead.take(opened, mark) is None


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: b'[{"a": 1},\n {"a": 2}]'])
def test_no_packed_file_is_scanned_ahead(file: Path, pack: Callable[[bytes], bytes]) -> None:
    ahead = ScanAhead(str(write(file, pack(b"line\n" * 99))), 1 << 20)
    with open_log_file(str(file)) as opened:
        assert ahead.take(opened, None) is None


def test_a_scan_ahead_of_what_has_changed_or_may_have_grown_is_not_used(file: Path, tmp_path: Path) -> None:
    first = scan_file(write(file, b"a\n"), 9)
    ahead = ScanAhead(str(write(file, b"a\nb\n")), 1 << 20)
    with open_log_file(str(file)) as opened:
        assert ahead.take(opened, QueuedMark(first.file_id, first.length)) is None
    ahead = ScanAhead(str(file), 1 << 20)
    ahead._thread.join()
    write(file, b"c\nd\n")
    with open_log_file(str(file)) as opened:
        assert ahead.take(opened, None) is None
    ahead = ScanAhead(str(file), 4)  # which is its length
    with open_log_file(str(file)) as opened:
        assert ahead.take(opened, None) is None
    ahead = ScanAhead(str(tmp_path / "none"), 1 << 20)
    with open_log_file(str(file)) as opened:
        assert ahead.take(opened, None) is None


def test_a_cut_off_gzip_is_another_file_until_it_is_complete(file: Path) -> None:
    data = os.urandom(50_000).hex().encode().replace(b"0", b"\n")
    packed = gzip.compress(data)
    half = scan_file(write(file, packed[: len(packed) // 2]), 100)
    assert half.damaged and 0 < half.length < len(data)
    assert half.file_id != scan_file(write(file, data[: half.length]), 100).file_id
    full = scan_file(write(file, packed), 100, QueuedMark(half.file_id, half.length))
    assert full.before == half.file_id.hex() and full.base == data.rfind(b"\n", 0, half.length) + 1


def test_item_ids_tell_feeds_files_and_ranges_apart(file: Path) -> None:
    item = one(write(file, b"a\nb\n"))
    others = [replace(item, feed="x"), replace(item, file_id=b"1" * 16), replace(item, start=2), replace(item, end=3)]
    assert len({i.item_id for i in [item, *others]}) == 5
    assert replace(item, ticket="u", again=True, path="/b", mtime_ns=1).item_id == item.item_id


@given(path=st.binary(min_size=1, max_size=20), header=st.binary(max_size=30), start=st.integers(0, 1 << 50))
def test_items_survive_the_queue(path: bytes, header: bytes, start: int) -> None:
    name = os.fsdecode(path)
    item = WorkItem(name, b"x" * 16, start, start + 1, "f", header, 1, 2, 3, 4, 5, 6, 7, "", False, "t", True)
    assert WorkItem.from_json(item.to_json()) == item


@pytest.mark.parametrize("junk", [b"", b"{}", b"[]", b"\xff", b'{"path": 1}', b'"x"'])
def test_what_is_no_item_is_said_to_be_none(junk: bytes) -> None:
    with pytest.raises(InternalError, match="not a work item"):
        WorkItem.from_json(junk)


def check(item: WorkItem) -> None:
    with open_log_file(item.path) as opened:
        check_unchanged(item, opened)


def test_growth_is_no_change_but_other_bytes_are(file: Path) -> None:
    item = one(write(file, b"a\nb\n"))
    check(item)
    write(file, b"a\nb\nc\n")
    check(item)
    os.utime(file, ns=(1, 1))
    check(item)
    for data in (b"a\nX\nc\n", b"a\n", b""):
        write(file, data)
        with pytest.raises(InputFileError, match="changed after it was queued"):
            check(item)


def test_other_bytes_of_the_same_size_and_time_are_noticed(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time of modification can be set by a file's owner: that of the change, and the inode, cannot."""
    monkeypatch.setattr(file_scan, "_CLOCK_TICK_NS", CLOCK_TICK_NS)
    item = one(write(file, b"a\nb\n"))

    def forge(path: Path) -> Path:
        with path.open("r+b" if path.exists() else "wb") as out:
            out.write(b"x\ny\n")
        os.utime(path, ns=(item.mtime_ns, item.mtime_ns))
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (item.size, item.mtime_ns)
        return path

    for put in (lambda: forge(file), lambda: forge(tmp_path / "other").rename(file)):
        put()
        with pytest.raises(InputFileError, match="changed after it was queued"):
            check(item)
    with file.open("r+b") as out:
        out.write(b"a\nb\n")
    check(item)


def test_items_of_long_files_are_longer_and_each_partition_gets_one() -> None:
    live = Settings(item_bytes=1 << 20, partitions=8)
    assert [choose_item_bytes(live, size << 20) >> 20 for size in (0, 5, 8, 16, 32, 500)] == [1, 1, 1, 2, 4, 4]
    bulk = replace(live, ingest_mode="bulk")
    assert [choose_item_bytes(bulk, size) for size in (0, 1, 500 << 20, (1 << 20) + 1)] == [
        1 << 20,
        1,
        1 << 20,
        (1 << 19) + 1,
    ]


def test_items_of_a_bulk_load_are_long_and_two_for_each_worker() -> None:
    mb = 1 << 20
    assert [bulk_item_bytes(mb, 40 * mb, workers) // mb for workers in (0, 1, 2, 3, 9)] == [8, 32, 10, 8, 8]
    assert bulk_item_bytes(mb, 5000 * mb, 2) == 32 * mb
