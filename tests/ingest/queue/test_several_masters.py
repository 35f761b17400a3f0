"""Several masters that watch the same files queue each line once, whichever of them stops or dies in the middle.

In `make test`: two masters at the worst moments, and two processes of which one stands still and one is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ingest_support import counts, exactly, line, log_file, own, source, wait_for, worker_here

from watchfloor.ingest.intake.intake import Intake, LostTurn
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LINES, MORE = 1200, 700


class InterruptedLedger(Ledger):
    """Calls ``meanwhile`` once, before the first call of the method ``at``."""

    def __init__(self, store: Store, at: str, meanwhile: Callable[[], None]) -> None:
        super().__init__(store)
        self._at, self._meanwhile = at, meanwhile

    def write_queued(self, *args: Any) -> None:
        self._interrupt("write_queued")
        super().write_queued(*args)

    def swap_seen(self, expected: bytes | None, seen: Any) -> bytes | None:
        self._interrupt("swap_seen" if seen.begun else "last swap_seen")
        return super().swap_seen(expected, seen)

    def _interrupt(self, method: str) -> None:
        if method == self._at:
            self._at = ""
            self._meanwhile()


def append(path: Path, first: int, lines: int) -> None:
    with path.open("a") as file:
        file.writelines(line(number) + "\n" for number in range(first, first + lines))


@pytest.mark.parametrize("at", ["swap_seen", "write_queued", "last swap_seen"])
def test_a_master_that_wakes_when_another_has_taken_over(at: str, store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "woken")
    other_settings = replace(settings, item_bytes=20 << 10)
    kind = source(f"woken_{at.replace(' ', '_')}")
    log = log_file(tmp_path / "a.log", LINES)
    with ExitStack() as stack:
        store, other_store = (stack.enter_context(Store.open(one)) for one in (settings, other_settings))
        store.catalog.register(kind)
        producer = stack.enter_context(ItemProducer(settings))
        other = Intake(other_store, Ledger(other_store), producer, fenced=True)

        def take_over() -> None:
            append(log, LINES, MORE)
            other.offer_file(str(log), kind.name)

        woken = Intake(store, InterruptedLedger(store, at, take_over), producer, fenced=True)
        if at == "swap_seen":
            with pytest.raises(LostTurn):
                woken.offer_file(str(log), kind.name)
        else:
            woken.offer_file(str(log), kind.name)
        append(log, LINES + MORE, MORE)
        other.offer_file(str(log), kind.name)
        with worker_here(settings):
            wait_for(lambda: counts(store, kind) == exactly(kind, LINES + 2 * MORE))
            time.sleep(1.0)
        assert counts(store, kind) == exactly(kind, LINES + 2 * MORE)


def start_master(settings: Settings, folder: Path, feed: str) -> subprocess.Popen[bytes]:
    code = "import sys; from watchfloor.api.cli.main import main; sys.exit(main())"
    arguments = ["--home", str(settings.home), "master", "--watch", str(folder), "--source", feed]
    queue = {"TOPIC": settings.topic, "GROUP": settings.group, "PARTITIONS": str(settings.partitions)}
    environment = {**os.environ, **{f"WATCHFLOOR_{name}": value for name, value in queue.items()}}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, stderr=subprocess.DEVNULL)


def test_masters_that_stand_still_and_die(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "masters")
    kind = source("masters")
    folder = tmp_path / "in"
    folder.mkdir()
    log = folder / "a.log"
    log.touch()
    masters: list[subprocess.Popen[bytes]] = []
    lines = 0
    with Store.open(settings) as store, worker_here(settings):
        store.catalog.register(kind)
        try:
            masters += [start_master(settings, folder, kind.name) for _ in range(2)]
            for still in (*masters, *masters):
                append(log, lines, 300)
                lines += 300
                still.send_signal(signal.SIGSTOP)
                append(log, lines, 300)
                lines += 300
                wait_for(lambda: counts(store, kind).events == lines)  # noqa: B023
                still.send_signal(signal.SIGCONT)
            masters[0].kill()
            append(log, lines, 300)
            lines += 300
            wait_for(lambda: counts(store, kind) == exactly(kind, lines), 30)
            time.sleep(2.0)
        finally:
            for master in masters:
                master.send_signal(signal.SIGCONT)
                master.terminate()
                master.wait(60)
        assert counts(store, kind) == exactly(kind, lines)
