"""Log files are opened without following links, and nothing but regular files of whoever may put them there.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from watchfloor.ingest.files.file_scan import scan_file
from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.files.open_file import open_log_file, stat_log_file
from watchfloor.ingest.intake.log_paths import expand_paths
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.errors import InputFileError


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "in" / "deep"
    folder.mkdir(parents=True)
    path = folder / "a.log"
    path.write_bytes(b'1.2.3.4 - - [08/Jan/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n')
    return path


def test_a_path_without_links_is_opened(log: Path) -> None:
    with open_log_file(str(log)) as file:
        assert file.name == str(log) and file.read() == log.read_bytes()
    found = stat_log_file(str(log))
    assert found is not None and found.st_ino == log.stat().st_ino


def test_no_part_of_a_path_may_be_a_link(log: Path, tmp_path: Path) -> None:
    (log.parent / "link.log").symlink_to(log)
    (tmp_path / "way").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "up").symlink_to(tmp_path)
    for path in (
        log.parent / "link.log",
        tmp_path / "way" / "deep" / "a.log",
        tmp_path / "in" / "up" / "in" / "deep" / "a.log",
        Path("/proc/self/fd/0"),
        Path("/proc/self/root") / str(log)[1:],
    ):
        with pytest.raises(InputFileError, match="symbolic link"):
            open_log_file(str(path))
        assert stat_log_file(str(path)) is None
    for odd in (f"{log.parent}/../deep/a.log", "a.log", "", "/"):
        with pytest.raises(InputFileError):
            open_log_file(odd)


def test_an_operator_may_name_files_by_links(log: Path, tmp_path: Path) -> None:
    (tmp_path / "link.log").symlink_to(log)
    (tmp_path / "way").symlink_to(tmp_path / "in")
    named = (tmp_path / "link.log", tmp_path / "way" / "deep" / "a.log", tmp_path / "way" / "*" / "a.log")
    assert expand_paths(named) == (str(log),)


def test_only_regular_files_are_opened(log: Path) -> None:
    os.mkfifo(log.parent / "pipe")
    cases = ((log.parent, "a folder"), (log.parent / "pipe", "not a regular file"), (log / "x", "no folder"))
    for path, why in (*cases, (log.parent / "no", "No such file"), (Path("/dev/null"), "not a regular file")):
        with pytest.raises(InputFileError, match=why):
            open_log_file(str(path))


def test_a_hard_link_must_be_made_by_whoever_may_read_the_file(log: Path) -> None:
    (log.parent / "b.log").hardlink_to(log)
    open_log_file(str(log)).close()
    for mode in (0o775, 0o757, 0o1777):
        log.parent.chmod(mode)
        with pytest.raises(InputFileError, match="2 hard links"):
            open_log_file(str(log))
    log.parent.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(log.parent, 12345, -1)  # another user's folder, and a file that is not that user's
        with pytest.raises(InputFileError, match="2 hard links"):
            open_log_file(str(log))
        os.chown(log, 12345, -1)
        open_log_file(str(log)).close()


def test_what_was_opened_is_what_is_recognised_hashed_and_read(log: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"root:secret\n")
    content = log.read_bytes()
    before = scan_file(log, 0)
    with open_log_file(str(log)) as file:
        log.unlink()
        log.symlink_to(secret)
        assert sniff_file(file, None, {}).feed == "web.access"
        assert scan_file(file, 0).file_id == before.file_id
        assert b"".join(chunk.data for chunk in read_chunks(file)) == content


def test_a_swap_of_file_and_link_shows_nothing_of_the_links_target(log: Path, tmp_path: Path) -> None:
    """Red with one ``stat`` and a later ``open`` by path: then some of the many tries read the secret."""
    secret, link, spare = tmp_path / "secret", log.parent / "link", log.parent / "spare"
    secret.write_bytes(b"root:secret\n")
    content, stop = log.read_bytes(), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            link.symlink_to(secret)
            link.replace(log)
            spare.write_bytes(content)
            spare.replace(log)

    swapper = threading.Thread(target=swap)
    swapper.start()
    opened = refused = 0
    try:
        while opened < 200 or refused < 200:
            try:
                with open_log_file(str(log)) as file:
                    assert file.read() == content
                opened += 1
            except InputFileError:
                refused += 1
    finally:
        stop.set()
        swapper.join()
