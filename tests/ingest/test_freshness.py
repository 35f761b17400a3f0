"""Lines are found soon: of a slow feed, as a master watches small files and one worker reads them, and of old files.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from ingest_support import START, own, running_master, source, wait_for, worker_here

from watchfloor.ingest.intake.master import watch_folders
from watchfloor.ingest.records.ledger import Ledger
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


def test_old_files_are_queued_at_once(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "oldfiles")
    kinds = [f"zeek.oldfile{number}" for number in range(6)]
    for kind in kinds:
        head = f"#separator \\x09\n#path\t{kind[5:]}\n#fields\tts\tnote\n#types\ttime\tstring\n"
        (tmp_path / f"{kind}.log").write_text(f"{head}{START}.5\tone\n{START}.7\ttwo\n")
    (tmp_path / "zeek.oldfile3.junk").write_bytes(bytes(range(256)) * 20)
    for path in tmp_path.iterdir():
        os.utime(path, (START, START))
    (tmp_path / "coming.log").write_text("the writer goes on")
    with (
        Store.open(store_settings) as store,
        worker_here(settings),
        running_master(settings, tmp_path, None, settle=600.0, polling=True),
    ):
        ledger, service = Ledger(store), QueryService(store)

        def read_states() -> dict[str, str]:
            rows = [row for row in ledger.read_rows() if row.path.startswith(f"{tmp_path}/")]
            return {Path(row.path).name: row.state for row in rows}

        wait_for(lambda: list(read_states().values()).count("done") == len(kinds))
        assert read_states() == {
            **dict.fromkeys((f"{kind}.log" for kind in kinds), "done"),
            "zeek.oldfile3.junk": "refused",
        }
        for kind in kinds:
            texts = [text for batch in service.run(QueryRequest(kind)) for text in batch.column("note").to_pylist()]
            assert texts == ["two", "one"]
