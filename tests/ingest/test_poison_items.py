"""An item that kills each worker that reads it fails in the end, and the others are loaded.

In `make soak`: three workers die, and each time the next one waits until the item is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import (
    counts,
    ledger_rows,
    log_file,
    own,
    source,
)

from watchfloor.ingest.intake.load import Load
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


POISON = """
import os, signal
import watchfloor.ingest.reading.item_reader as reading
import watchfloor.ingest.worker.claim as claim
claim.STALE_SECONDS = 4.0  # until the next worker takes the item
original = reading.read_chunks
def read_chunks(path, *rest):
    for chunk in original(path, *rest):
        if b"poison" in chunk.data:
            os.kill(os.getpid(), signal.SIGKILL)
        yield chunk
reading.read_chunks = read_chunks
"""


@pytest.mark.usefixtures("quick_restarts")
def test_an_item_that_kills_its_workers_fails_in_the_end(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = own(store_settings, "poison", partitions=1), store.catalog.register(source("poison"))
    bad, good = log_file(tmp_path / "bad.log", 50, "poison"), log_file(tmp_path / "good.log", 50)
    (tmp_path / "sitecustomize.py").write_text(POISON)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    running = Load(settings, [bad, good], kind.name)
    for _ in running:
        pass
    result = running.result
    assert result.events == 50 and len(result.failed) == 1 and "died in it 3 times" in result.failed[0]
    (row,) = ledger_rows(store, bad)
    assert (row.state, row.attempts) == ("failed", 3)
    assert counts(store, kind).events == 50
