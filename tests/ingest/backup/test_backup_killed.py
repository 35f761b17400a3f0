"""An export and an import that are killed leave nothing that anybody sees, and the same command completes them.

In `make test`: each step of an import costs a process of some four seconds.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import counts, exactly, ledger_rows, load, log_file, own, source

from watchfloor.ingest.backup.export import export_sources
from watchfloor.ingest.backup.restore import import_sources
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import drop_source, list_tables
from watchfloor.store.catalog import IMPORT_FAMILY
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash]
LINES = 200

KILLED = """
import os, signal, sys
from pathlib import Path
from watchfloor.ingest.backup import export, restore
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.backup import restore as entries
from watchfloor.store.store import Store

home, folder, action, module, name, after = sys.argv[1:]
module = {"export": export, "restore": restore, "entries": entries}[module]
known = getattr(module, name)

def die(*arguments):
    if after == "after":
        known(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(module, name, die)
with Store.open(load_settings(home)) as store:
    if action == "import":
        restore.import_sources(store, Path(folder))
    else:
        export.export_sources(store, [action], Path(folder))
"""
IMPORT_STEPS = (
    ("entries", "import_files", "after"),
    ("restore", "publish_source", "after"),
)


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def run_killed(settings: Settings, folder: Path, action: str, step: tuple[str, str, str]) -> None:
    command = [sys.executable, "-c", KILLED, str(settings.home), str(folder), action, *step]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr


def find_clones(store: Store) -> set[str]:
    return {name for name in list_tables(store.connection) if ".clone_" in name}


def test_a_killed_export_and_import_are_completed_by_the_next(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    kind = store.catalog.register(source("killed"))
    path = log_file(tmp_path / "a.log", LINES)
    settings = own(store_settings, "killed")
    load(settings, path, feed=kind.name)
    run_killed(store_settings, tmp_path / "broken", kind.name, ("export", "_read_items", "before"))
    assert find_clones(store), "the killed export has dropped its clones"
    with pytest.raises(UserError, match="no whole backup"):
        import_sources(store, tmp_path / "broken")
    export_sources(store, [kind.name], tmp_path / "backup")
    assert not find_clones(store)
    items = [row.item for row in ledger_rows(store, path) if row.item is not None]
    Ledger(store).delete_items(items)
    drop_source(store.connection, kind)
    for step in IMPORT_STEPS:
        run_killed(store_settings, tmp_path / "backup", "import", step)
        is_seen = kind.name in store.catalog.read_sources()
        assert is_seen == (step[1] == "publish_source"), step
        assert IMPORT_FAMILY in store.read_catalog_row(kind.name).entries.column("family").to_pylist()
    assert not ledger_rows(store, path)
    assert import_sources(store, tmp_path / "backup").events == {kind.name: LINES}
    assert IMPORT_FAMILY not in store.read_catalog_row(kind.name).entries.column("family").to_pylist()
    assert counts(store, kind) == exactly(kind, LINES)
    assert load(settings, path, feed=kind.name).events == 0
    assert counts(store, kind) == exactly(kind, LINES)
