"""Every command that shows or takes a path does so with any path, and sends none of its bytes raw to a terminal.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command_line import run_command
from ingest_support import RUN, START, own, source

from watchfloor.ingest.files.file_scan import items_of, scan_file
from watchfloor.ingest.intake.master import watch_folders
from watchfloor.ingest.records.ledger import ItemEnd, Ledger
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("loads_here")]
NAMES = {
    "no UTF-8": b"caf\xe9-\xff.log",
    "newline": b"two\nlines.log",
    "terminal": b"\x1b]0;owned\x07\x1b[2J.log",
    "C1": "c1\x9b31m\u202e.log".encode(),
    "backslash": b"a\\xff\\.log",
    "plain": "größe.log".encode(),
}
KIND = source("any_path")


@pytest.fixture(scope="module", autouse=True)
def registered(store_settings: Settings) -> None:
    with Store.open(store_settings) as opened:
        opened.catalog.register(KIND)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yields a folder whose path is short, so that tables show the names of its files whole."""
    with TemporaryDirectory() as made:
        yield Path(made)


def odd_file(folder: Path, name: str, text: str) -> str:
    path = os.path.join(folder.resolve(), os.fsdecode(NAMES[name]))  # noqa: PTH118 - a Path would be shown otherwise
    Path(path).write_text(text)
    return path


def assert_harmless(*texts: str) -> None:
    for text in texts:
        text.encode()
        assert all(c == "\n" or c.isprintable() for c in text), text


@pytest.mark.parametrize("name", ["no UTF-8", "terminal", "backslash"])
def test_commands_show_any_path_and_take_it_back(store_settings: Settings, folder: Path, name: str) -> None:
    good = json.dumps({"ts": START, "host": "h1", "n": 1, "text": f"{RUN} {name}"})
    path = odd_file(folder, name, f"{good}\nbad {name}\n")
    shown = show_path(path)

    def run(*arguments: str) -> tuple[int, str, str]:
        status, out, err = run_command(store_settings, *arguments)
        assert_harmless(out, err)
        return status, out, err

    status, _, err = run("load", shown, path, "--source", KIND.name)
    assert status == 1 and "2 lines = 1 events + 1 quarantined" in err
    (item,) = [row for row in map(json.loads, run("items")[1].splitlines()) if row["file"] == shown]
    assert (item["state"], item["quarantined"]) == ("done", 1)
    assert shown in run("items", "--format", "table")[1]
    assert shown in [row["file"] for row in csv.DictReader(io.StringIO(run("items", "--format", "csv")[1]))]
    for given in (path, shown):
        (line,) = map(json.loads, run("quarantine", "list", "--file", given)[1].splitlines())
        assert (line["file"], line["offset"]) == (shown, len(good) + 1)
        status, _, err = run("quarantine", "retry", "--file", given)
        assert status == 1 and "1 lines tried" in err
    assert f"{line['line']}: {shown} at byte" in run("quarantine", "show", line["line"])[2]
    assert run("quarantine", "list", "--file", shown + "x")[1] == ""

    status, _, err = run("load", shown + "x", "--source", KIND.name)
    assert status == 2 and ("cannot be read" in err or "no file fits this pattern" in err)
    Path(path).write_bytes(b"PK\x03\x04")
    status, _, err = run("load", shown, "--source", KIND.name)
    assert status == 2 and f"{shown}: is a zip archive that is damaged or cut off" in err


def test_a_failed_item_tells_any_path(store_settings: Settings, tmp_path: Path) -> None:
    """The worker finds the file gone; its reason quotes the path, and goes into the ledger and to its log."""
    path = odd_file(tmp_path, "no UTF-8", "")
    Path(path).write_text("x\n")
    (item,) = items_of(scan_file(path, 100), path, KIND.name, b"", "ticket")
    with Store.open(store_settings) as opened:
        ledger = Ledger(opened)
        ledger.write_queued([item], store_settings.topic)
        ledger.write_end(item, ItemEnd("ticket", "failed", time.time(), "me", reason=f"{path}: gone"))
        ledger.close()
    status, out, err = run_command(store_settings, "items", "--failed")
    assert_harmless(out, err)
    assert status == 0 and show_path(path) in [json.loads(line)["file"] for line in out.splitlines()]
    assert_harmless(item.name)


def test_the_master_takes_and_refuses_any_path(
    store_settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path(os.path.join(tmp_path, os.fsdecode(b"in\xff\n")))  # noqa: PTH118
    folder.mkdir()
    paths = [odd_file(folder, name, "what is this\n") for name in NAMES]
    stop = threading.Event()
    settings = own(store_settings, "any-path")

    def watch() -> None:
        watch_folders(settings, [show_path(folder)], stop, settle=0.2, polling=True)

    master = threading.Thread(target=watch)
    with caplog.at_level(logging.INFO, "watchfloor.master"):
        master.start()
        refused: set[str] = set()
        until = time.monotonic() + 60
        while not refused.issuperset(map(show_path, paths)) and time.monotonic() < until:
            time.sleep(0.5)
            out = run_command(store_settings, "items", "--failed")[1]
            refused = {json.loads(line)["file"] for line in out.splitlines()}
        stop.set()
        master.join()
    assert refused >= set(map(show_path, paths))
    assert_harmless(*(record.getMessage() for record in caplog.records if record.name == "watchfloor.master"))


def test_a_wrong_checksum_is_said_and_loses_no_line(store_settings: Settings, tmp_path: Path) -> None:
    path = odd_file(tmp_path, "terminal", "")
    lines = b"".join(b"bad %d\n" % number for number in range(900))
    Path(path).write_bytes(gzip.compress(lines)[:-8] + b"12345678")
    status, _, err = run_command(store_settings, "load", path, "--source", KIND.name)
    assert status == 1 and "0 events + 901 quarantined" in err
    out = run_command(store_settings, "quarantine", "list", "--file", path)[1]
    last = max(map(json.loads, out.splitlines()), key=lambda line: int(line["offset"]))
    assert "gzip stream is damaged" in last["reason"] and last["offset"] == len(lines)
