"""A file that is no log is refused with what it is and what to do, also if its source is named.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.errors import InputFileError

LINE = b'{"ts": 1700000000, "host": "h1"}\n'


def packed_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.log", LINE)
    return out.getvalue()


def packed_tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        about = tarfile.TarInfo("a.log")
        about.size = len(LINE)
        archive.addfile(about, io.BytesIO(LINE))
    return out.getvalue()


OTHERS = {
    "compress": (b"\x1f\x9d" + b"?" * 30, r"is packed by compress, .*`uncompress`"),
    "7z": (b"7z\xbc\xaf\x27\x1c" + b"?" * 30, r"is packed by 7-Zip, .*`7z x`"),
    "rar": (b"Rar!\x1a\x07\x01\x00" + b"?" * 30, r"is packed by RAR, .*`unrar x`"),
    "zip": (packed_zip(), r"is a zip archive: its members are read one by one"),
    "tar": (packed_tar(), r"is a tar archive: its members are read one by one"),
    "tar.gz": (gzip.compress(packed_tar()), r"is a tar archive: its members are read one by one"),
    "utf-16": (LINE.decode().encode("utf-16"), r"is text in UTF-16; .*`iconv"),
    "broken.gz": (
        gzip.compress(LINE)[:10],
        r"nothing of it can be read: the gzip stream ends early.*get it again",
    ),
    "no.gz": (b"\x1f\x8b" + b"?" * 40, r"nothing of it can be read: the gzip stream is damaged.*get it again"),
}
UNTOLD = {
    "empty": (b"", r"is empty, so nothing tells its kind; name its source"),
    "empty.gz": (gzip.compress(b""), r"has no lines, so nothing tells its kind; name its source"),
    "blank": (b"\n \n", r"has no lines, so nothing tells its kind; name its source"),
    "zeros": (b"\0" * 5_000, r"begins with zero bytes only, as files do .* power failed"),
    "many zeros": (b"\0" * (3 << 20), r"begins with zero bytes only, as files do .* power failed"),
    "cut.gz": (gzip.compress(LINE * 9)[:-30], r"has no whole line at its beginning \(the gzip stream ends early"),
}


@pytest.mark.parametrize("feed", [None, "web.access"])
@pytest.mark.parametrize("name", list(OTHERS))
def test_what_is_no_log_is_refused_whatever_is_said(tmp_path: Path, name: str, feed: str | None) -> None:
    data, problem = OTHERS[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputFileError, match=f"{name}: {problem}"):
        sniff_file(tmp_path / name, feed, {})


@pytest.mark.parametrize("name", list(UNTOLD))
def test_what_tells_nothing_is_read_if_its_source_is_named(tmp_path: Path, name: str) -> None:
    data, problem = UNTOLD[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputFileError, match=f"{name}: {problem}"):
        sniff_file(tmp_path / name, None, {})
    assert sniff_file(tmp_path / name, "web.access", {}).feed == "web.access"


def test_text_that_begins_like_a_compression_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"BZh9 said the bee\n")
    assert sniff_file(tmp_path / "a.log", "web.access", {}).feed == "web.access"
