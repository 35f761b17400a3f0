"""Somebody who may write a watched folder puts links to a file that is not theirs in place of logs.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import line, own, running_master, source, wait_for, worker_here

from watchfloor.ingest.files.file_scan import scan_file
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
SECONDS = 8.0


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def swap_files_and_links(folder: Path, secret: Path, stop: threading.Event) -> None:
    """Puts new logs into a folder, and swaps each for a link to ``secret``, and folders for links to its folder."""
    number = 0
    (folder / "deep").mkdir()
    while not stop.is_set():
        number += 1
        log = folder / f"{number % 20}.log"
        spare, link, deep = folder / ".spare", folder / ".link", folder / "deep"
        spare.write_text(line(number, f"open{number}") + "\n")
        spare.replace(log)
        # Most are swapped while the master looks at them; some stay long enough to be queued on any machine.
        time.sleep(0.5 if number % 50 == 0 else 0.002 * (number % 5))
        link.symlink_to(secret)
        link.replace(log)
        if deep.is_symlink():
            deep.unlink()
            deep.mkdir()
        else:
            (deep / secret.name).write_text(line(number, f"deep{number}") + "\n")
            time.sleep(0.003)
            (deep / secret.name).unlink()
            deep.rmdir()
            deep.symlink_to(secret.parent)


def test_a_link_in_place_of_a_log_shows_nothing_of_its_target(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, "hostile"), store.catalog.register(source("hostile"))
    secret = tmp_path / "private" / "secret.log"
    secret.parent.mkdir(mode=0o700)
    secret.write_text(line(7, "secret", host="secret") + "\nroot:secret\n")
    secret.chmod(0o600)
    folder = tmp_path / "in"
    folder.mkdir(mode=0o777)
    stop = threading.Event()
    swapper = threading.Thread(target=swap_files_and_links, args=(folder, secret, stop))
    with worker_here(settings), running_master(settings, folder, kind.name, settle=0.0, polling=False):
        swapper.start()
        time.sleep(SECONDS)
        stop.set()
        swapper.join()
        (folder / "last.log").write_text(line(1, "last", host="last") + "\n")
        service = QueryService(store)
        wait_for(lambda: sum(map(len, service.run(QueryRequest(kind.name, where="host = last")))) == 1)
    mine = [row for row in Ledger(store).read_rows() if row.path.startswith(str(tmp_path))]
    assert len(mine) > 1, "no file of the folder was queued"
    assert not [row for row in mine if row.item and row.item.file_id == scan_file(secret, 0).file_id]
    assert not [
        row for row in mine if row.path.startswith(str(secret.parent)) or "secret" in (row.reason or "").split()
    ]
    assert not [quarantined for quarantined in Quarantine(store).open_lines() if b"root:secret" in quarantined.raw]
    assert not sum(map(len, service.run(QueryRequest(kind.name, where="host = secret"))))
