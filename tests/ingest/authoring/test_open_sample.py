"""A log to be looked at may be packed, or a member of an archive, named or the first that can be read.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from watchfloor.ingest.authoring.open_sample import open_sample
from watchfloor.ingest.authoring.proposal import propose_definition
from watchfloor.ingest.authoring.trial import try_source
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import InputFileError

DOORS = {
    f"day{day}/doors.csv": "when,door\n"
    + "".join(f"2026-03-0{day} 08:00:{n:02},door {n % 3}\n" for n in range(20 + day))
    for day in (1, 2)
}


def write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in DOORS.items():
            archive.writestr(name, text)


def write_tar(path: Path, mode: str = "w") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, text in DOORS.items():
            about = tarfile.TarInfo(name)
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text.encode()))


@pytest.fixture(params=["zip", "tar", "tar.gz"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"doors.{request.param}"
    {"zip": write_zip, "tar": write_tar, "tar.gz": lambda path: write_tar(path, "w:gz")}[request.param](path)
    return path


@pytest.mark.parametrize(("member", "count"), [("", 21), ("day1/doors.csv", 21), ("day2/doors.csv", 22)])
def test_a_member_is_proposed_for_and_tried_as_a_log_of_its_own(archive: Path, member: str, count: int) -> None:
    with open_sample(archive / member) as file:
        assert file.member == (member or "day1/doors.csv")
        proposal = propose_definition(file)
        assert proposal.definition["name"] == "logs.doors"
        trial = try_source(parse_definition(proposal.definition), file, 100)
    assert (trial.count, trial.rejected) == (count, [])


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes], ids=["gzip", "zstd", "plain"])
def test_a_packed_file_is_read_as_what_is_packed(pack: type[bytes], tmp_path: Path) -> None:
    path = tmp_path / "doors.csv"
    path.write_bytes(pack(DOORS["day1/doors.csv"].encode()))
    with open_sample(path) as file:
        trial = try_source(parse_definition(propose_definition(file).definition), file, 100)
    assert (trial.count, trial.rejected) == (21, [])


def test_what_cannot_be_opened_says_why(archive: Path, tmp_path: Path) -> None:
    plain, empty = tmp_path / "plain.csv", tmp_path / "empty.zip"
    plain.write_text("when\n")
    zipfile.ZipFile(empty, "w").close()
    for path, reason in {
        archive / "day3": "has no member day3; it has day1/doors.csv, day2/doors.csv",
        plain / "day1": "plain.csv: is no archive, so it has no day1",
        empty: "is an archive without files",
        tmp_path / "none" / "a.csv": "cannot be read: No such file or directory",
    }.items():
        with pytest.raises(InputFileError, match=reason), open_sample(path):
            pass


def test_a_member_that_cannot_be_read_is_passed_over_unless_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    write_zip(path)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(b"day1/doors.csv"))
    data[at + 8] |= 1  # the member counts as encrypted
    path.write_bytes(data)
    with open_sample(path) as file:
        assert file.member == "day2/doors.csv"
    with pytest.raises(InputFileError, match=r"day1/doors\.csv: "), open_sample(path / "day1/doors.csv"):
        pass
