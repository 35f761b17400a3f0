"""Lines of a slow feed are found soon: a master watches small files and one worker reads them.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from ingest_support import START, own, source, worker_here

from watchfloor.ingest.intake.master import watch_folders
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
FILES = 15
DELAY = 2.0
"""What ``worker --max-delay`` promises by default, on a machine that has room for it."""


@pytest.mark.parametrize("layout", ["cell", "block"])
def test_lines_of_a_slow_feed_are_found_soon(layout: str, store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, f"fresh{layout}")
    written: dict[str, float] = {}
    found: dict[str, float] = {}

    def feed(folder: Path) -> None:
        for number in range(FILES):
            name = f"file {number}"
            event = {"ts": START + number, "host": "h", "n": number, "text": name}
            (tmp_path / "new").write_text(json.dumps(event) + "\n")
            (tmp_path / "new").rename(folder / f"{number}.log")
            written[name] = time.monotonic()
            time.sleep(0.1)

    with Store.open(store_settings) as store, worker_here(settings):
        kind = store.catalog.register(source(f"fresh{layout}", layout=layout))
        service = QueryService(store)
        folder, stop = tmp_path / "in", threading.Event()
        folder.mkdir()
        threads = [
            threading.Thread(target=watch_folders, args=(settings, [folder], stop), kwargs={"feed": kind.name}),
            threading.Thread(target=feed, args=(folder,)),
        ]
        for thread in threads:
            thread.start()
        try:
            until = time.monotonic() + 120
            while len(found) < FILES:
                assert time.monotonic() < until, f"{FILES - len(found)} files were never found"
                request = QueryRequest(kind.name, columns=("text",))
                texts = {text for batch in service.run(request) for text in batch.column("text").to_pylist()}
                found.update(dict.fromkeys(texts - found.keys(), time.monotonic()))
                time.sleep(0.05)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    delays = sorted(found[name] - written[name] for name in written)
    assert delays[-1] < 15 * DELAY, delays
