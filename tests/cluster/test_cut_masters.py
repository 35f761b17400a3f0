"""The host of one of two masters is cut off, and then that of the other one, while files are written and grow.

In `make soak`: it takes two minutes. `make test-cluster` runs it with the rest of this folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster import WORK
from cluster_bed import Bed, format_event

pytestmark = [pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(900)]
SOURCE = "bed.masters"
PART = 100
"""The events that are written at a time."""
PAUSE_SECONDS = 0.4
GROW_SECONDS = 8.0
"""Longer than a master waits until a file counts as complete."""
CUT_SECONDS, HEALED_SECONDS = 25, 12


class LogWriter:
    """Writes new files into a folder, and now and then more lines to the first one. Events are numbered from 0."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.lines, self.files = folder, 0, 0
        self._stop = threading.Event()

    @contextmanager
    def writing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._write)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _write(self) -> None:
        grown = 0.0
        while not self._stop.wait(PAUSE_SECONDS):
            name = f"{self.files:04d}.log"
            if time.monotonic() - grown > GROW_SECONDS:
                name, grown = "grows.log", time.monotonic()
            else:
                self.files += 1
            with (self._folder / name).open("a") as file:
                file.writelines(map(format_event, range(self.lines, self.lines + PART)))
            self.lines += PART


def test_the_hosts_of_two_masters_are_cut_off(bed: Bed) -> None:
    folder = bed.folder / "watched"
    folder.mkdir()
    bed.add_source(SOURCE)
    for host in WORK:
        bed.cluster.keep_command(host, "master", "--watch", str(folder), "--source", SOURCE)
    writer = LogWriter(folder)
    with writer.writing():
        for host in WORK:
            time.sleep(HEALED_SECONDS)
            with bed.network.without_link(host):
                time.sleep(CUT_SECONDS)
        time.sleep(HEALED_SECONDS)
    written = time.monotonic()
    bed.revive_until(lambda: bed.read_contents(SOURCE).count >= writer.lines, 240, "the events of all files")
    seconds = time.monotonic() - written
    # What a master still has in hand that was cut off.
    time.sleep(10)
    bed.check_exactly_once(SOURCE, writer.lines, bad_lines=0)
    queued = {host: bed.cluster.log(host, "master").read_text().count(": queued, ") for host in WORK}
    for host in WORK:
        bed.cluster.end_command(host, "master")
    print(
        f"masters: {writer.lines} events of {writer.files} files, all there after {seconds:.1f} s; queued by {queued}"
    )
    assert all(queued.values())
    bed.check_logs()
