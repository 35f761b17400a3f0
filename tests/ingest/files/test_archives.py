"""Members of tar and zip archives are logs of their own, and no archive, however hostile, does harm.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_support import shared_log

from watchfloor.ingest.files.archives import members as archive_members
from watchfloor.ingest.files.archives.archive import list_members
from watchfloor.ingest.files.archives.members import ArchiveFault
from watchfloor.ingest.files.file_scan import check_unchanged, items_of, scan_file
from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.files.open_file import open_log_file
from watchfloor.ingest.intake.logs_in_file import LogsInFile, sniff_logs
from watchfloor.schema.errors import InputFileError

LINE = b'203.0.113.7 - - [05/Mar/2024:08:00:00 +0000] "GET / HTTP/1.1" 200 12\n'
Files = Mapping[str, bytes]
NAMES = st.sampled_from(["a.log", "b/c.log", "../up.log", "/etc/passwd", "é.log", "x" * 150, "-", "con\tfusing"])
CONTENTS = st.dictionaries(NAMES, st.lists(st.sampled_from([LINE, b"one\n", b"\xff\n"]), max_size=30).map(b"".join))


def pack_tar(files: Files, form: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return out.getvalue()


def pack_zip(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


ARCHIVES: dict[str, Callable[[Files], bytes]] = {
    "tar": pack_tar,
    "pax": lambda files: pack_tar(files, tarfile.PAX_FORMAT),
    "tar.gz": lambda files: gzip.compress(pack_tar(files)),
    "tar.bz2": lambda files: bz2.compress(pack_tar(files)),
    "tar.xz": lambda files: lzma.compress(pack_tar(files), preset=0),
    "tar.zst": lambda files: zstandard.ZstdCompressor().compress(pack_tar(files)),
    "zip": pack_zip,
    "stored.zip": lambda files: pack_zip(files, zipfile.ZIP_STORED),
    "bzip2.zip": lambda files: pack_zip(files, zipfile.ZIP_BZIP2),
    "lzma.zip": lambda files: pack_zip(files, zipfile.ZIP_LZMA),
}
KINDS = pytest.mark.parametrize("kind", sorted(ARCHIVES))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("archive") / "logs.bin")


def write(path: str, data: bytes) -> str:
    Path(path).write_bytes(data)
    return path


def names_in(path: str) -> list[str]:
    with open_log_file(path) as file:
        return [member.name for member in list_members(file) or () if not member.problem]


def read(path: str, member: str) -> tuple[bytes, list[str]]:
    """Returns the lines of a member, and what is wrong with it."""
    with open_log_file(path, member) as file:
        chunks = list(read_chunks(file))
    return b"".join(chunk.data for chunk in chunks), [r.reason for chunk in chunks for r in chunk.rejected]


def sniff(path: str, feed: str | None = None) -> LogsInFile:
    with open_log_file(path) as file:
        return sniff_logs(file, feed, {})


@KINDS
@settings(max_examples=25, deadline=None)
@given(files=CONTENTS)
def test_each_member_is_a_log_with_the_identity_of_its_content(path: str, kind: str, files: dict[str, bytes]) -> None:
    write(path, ARCHIVES[kind](files))
    assert names_in(path) == list(files)
    for name, data in files.items():
        assert read(path, name) == (data, [])
        with open_log_file(path, name) as file:
            scan = scan_file(file, 10)
        plain = scan_file(write(path + ".plain", data), 10)
        assert (scan.file_id, scan.length, scan.damaged) == (plain.file_id, len(data), False)
        assert (scan.member, scan.compressed) == (name, True)


@KINDS
def test_members_are_recognised_one_by_one(path: str, kind: str) -> None:
    files = {"web/access.log": LINE, "notes/README": b"What is in here, in words.\n", "old.gz": gzip.compress(LINE * 2)}
    found = sniff(write(path, ARCHIVES[kind](files)))
    assert {name: sniffed.feed for name, sniffed in found.logs.items()} == {
        "web/access.log": "web.access",
        "old.gz": "web.access",
    }
    assert not any(sniffed.splittable for sniffed in found.logs.values())
    (left_out,) = found.left_out
    assert left_out.startswith(f"{path}/notes/README: not ")
    assert read(path, "old.gz") == (LINE * 2, [])


@KINDS
def test_an_item_of_a_member_is_read_only_while_its_content_is_the_same(path: str, kind: str) -> None:
    write(path, ARCHIVES[kind]({"a": b"x\n", "b": LINE * 3}))
    with open_log_file(path, "b") as file:
        (item,) = items_of(scan_file(file, 10), path, "web.access", b"", "00")
    assert (item.log_path, item.member) == (f"{path}/b", "b")
    write(path, ARCHIVES[kind]({"more": b"y\n", "b": LINE * 3}))
    with open_log_file(item.path, item.member) as file:
        check_unchanged(item, file)
    write(path, ARCHIVES[kind]({"a": b"x\n", "b": LINE * 2}))
    with open_log_file(item.path, item.member) as file, pytest.raises(InputFileError, match="/b: its content changed"):
        check_unchanged(item, file)


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
def test_an_archive_in_an_archive_is_left_out_with_what_to_do(path: str, kind: str) -> None:
    inner = {"a.log": LINE}
    files = {"in.zip": pack_zip(inner), "in.tar": pack_tar(inner), "in.tgz": gzip.compress(pack_tar(inner)), "a": LINE}
    found = sniff(write(path, ARCHIVES[kind](files)))
    assert list(found.logs) == ["a"]
    assert len(found.left_out) == 3
    assert all("an archive in an archive; unpack it and load its files" in line for line in found.left_out)


def test_what_is_no_file_or_says_nothing_is_no_member(path: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE), ("fifo", tarfile.FIFOTYPE)):
            about = tarfile.TarInfo(name)
            about.type, about.linkname = kind, "/etc/passwd"
            archive.addfile(about)
        for name in ("._a.log", "d/.DS_Store", "__MACOSX/a.log"):
            archive.addfile(tarfile.TarInfo(name))
    assert names_in(write(path, out.getvalue())) == []
    with pytest.raises(InputFileError, match="is an archive without files"):
        sniff(path)


def test_a_name_may_come_twice(path: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for data in (b"one\n", b"two\n", b"three\n"):
            about = tarfile.TarInfo("a")
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    assert names_in(write(path, out.getvalue())) == ["a", "a#2", "a#3"]
    assert [read(path, name)[0] for name in names_in(path)] == [b"one\n", b"two\n", b"three\n"]


def test_an_encrypted_member_is_told(path: str) -> None:
    data = bytearray(pack_zip({"a.log": LINE}, zipfile.ZIP_STORED))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1
    with pytest.raises(InputFileError, match=r"/a\.log: is encrypted; unpack it with its password"):
        sniff(write(path, bytes(data)))


def test_a_damaged_member_gives_what_can_be_read_and_says_so(path: str) -> None:
    data = bytearray(pack_zip({"a.log": LINE * 900}, zipfile.ZIP_STORED))
    data[data.index(LINE) + 70 * 600] ^= 0xFF
    lines, (fault,) = read(write(path, bytes(data)), "a.log")
    assert len(lines) == len(LINE) * 900 and "the archive's member is damaged (its checksum is wrong)" in fault
    with pytest.raises(InputFileError, match=r"damaged or cut off .*get it again"):
        sniff(write(path, pack_zip({"a.log": LINE * 900})[:-30]))


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.zst"])
def test_a_tar_archive_that_is_cut_off_gives_what_was_whole_and_says_so(path: str, kind: str) -> None:
    noise = b"%s\n" % random.Random(1).randbytes(60_000).hex().encode()
    data = ARCHIVES[kind]({"a.log": LINE * 9, "b.log": LINE * 9_000 + noise, "c.log": LINE})
    write(path, data[: len(data) * 2 // 3])
    assert names_in(path)[0] == "a.log" and "c.log" not in names_in(path)
    assert read(path, "a.log") == (LINE * 9, [])
    lines, (fault,) = read(path, "b.log")
    assert lines and (LINE * 9_000).startswith(lines) and "ends early at byte" in fault


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(["tar", "pax", "tar.gz", "zip"]), data=st.data())
def test_an_altered_archive_gives_lines_or_a_message(path: str, kind: str, data: st.DataObject) -> None:
    packed = bytearray(ARCHIVES[kind]({"a.log": LINE * 3, "n" * 130: LINE}))
    for _ in range(data.draw(st.integers(1, 6))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    write(path, bytes(packed))
    try:
        names = names_in(path)
    except ArchiveFault:
        return
    for name in names:
        try:
            read(path, name)
        except InputFileError:
            continue


def test_members_that_lie_over_each_other_are_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_members, "SMALL_BYTES", 1 << 20)
    data = bytearray(pack_zip({"a": b"x" * (1 << 20)}))
    one = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry, count = bytes(data[one:end]), 3_000
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(entry) * count, one, 0)
    with pytest.raises(InputFileError, match=r"unpacks to more than 1,100 times its size"):
        sniff(write(path, bytes(data[:one]) + entry * count + tail))


def test_a_tar_bomb_and_too_many_members_are_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_members, "SMALL_BYTES", 1 << 20)
    packed = zstandard.ZstdCompressor(19).compress(pack_tar({"a": b"\0" * (40 << 20)}))
    with pytest.raises(InputFileError, match=r"unpacks to more than 1,100 times its size"):
        sniff(write(path, packed))
    monkeypatch.setattr(archive_members, "MAX_MEMBERS", 10)
    for kind in ("tar", "zip"):
        with pytest.raises(InputFileError, match="has more than 10 members"):
            sniff(write(path, ARCHIVES[kind]({str(number): LINE for number in range(11)})))


def test_a_header_that_asks_for_much_memory_is_refused(path: str) -> None:
    about = tarfile.TarInfo("././@LongLink")
    about.type, about.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    with pytest.raises(InputFileError, match=r"has a header of 1,099,511,627,776 bytes"):
        sniff(write(path, about.tobuf(tarfile.GNU_FORMAT) + b"a" * 1024))


def test_a_name_that_the_queue_cannot_carry_is_left_out(path: str) -> None:
    found = sniff(write(path, pack_tar({"n/" * 3_000 + "a.log": LINE, "b.log": LINE})))
    assert list(found.logs) == ["b.log"]
    assert "has a name that is too long" in found.left_out[0] and len(found.left_out[0]) < 300


@pytest.mark.parametrize(
    ("name", "feed", "lines"),
    [
        ("web_access/access3.log.zip", "web.access", 206_860),
        ("windows/covenant_dcom_iertutil_dll_hijack.zip", "windows", 37_814),
        ("windows/empire_mimikatz_sam_access.zip", "windows", 12_349),
        ("windows/empire_persistence_registry_modification_run_keys_standard_user.zip", "windows", 40_569),
        ("windows/empire_wmic_add_user_backdoor.zip", "windows", 12_278),
    ],
)
def test_real_archives_are_recognised_without_a_source(name: str, feed: str, lines: int) -> None:
    path = str(shared_log(name).resolve())
    found = sniff(path)
    ((member, sniffed),) = found.logs.items()
    assert (sniffed.feed, found.left_out) == (feed, ())
    text, faults = read(path, member)
    assert (text.count(b"\n"), faults) == (lines, [])
