"""Bulk loads by workers, and what they leave in tables and folders."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.load_result import LoadResult
from watchfloor.schema.source import Source
from watchfloor.store.admin.labels import read_user_labels
from watchfloor.store.admin.tables import source_tables
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bulk.import_folders import import_root
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.store import Store

Tables = dict[str, dict[tuple[bytes, bytes, bytes], tuple[bytes, bytes]]]


def patiently() -> None:
    """Waits for files as long as it takes."""


def folders(store: Store) -> list[str]:
    names = jvm.java_class("watchfloor.bridge.sink.BulkFiles").names
    return [str(name) for name in names(import_root(store.settings, store.connection))]


def stored(store: Store, kind: Source) -> Tables:
    found: Tables = defaultdict(dict)
    everything = Ranges()
    everything.add_rows(b"", None)
    for table in source_tables(kind):
        for batch in store.with_authorizations(read_user_labels(store.connection, store.user)).scan(
            EntryScan(table, everything)
        ):
            for row, family, qualifier, visibility, value in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                assert (row, family, qualifier) not in found[table]
                found[table][row, family, qualifier] = visibility, value
    return found


KILLER = """
import os, signal, threading
from pathlib import Path
from watchfloor.store.bulk.bulk_sink import BulkSink

HERE = Path(__file__).parent

def die(step):
    try:
        (HERE / step).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
"""


def load_killed(
    code: str, steps: tuple[str, ...], run: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> LoadResult:
    """Loads by a worker process that has run ``code``, which kills it once at each of the steps."""
    (folder / "sitecustomize.py").write_text(KILLER + code)
    for step in steps:
        (folder / step).touch()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    for _ in run:
        pass
    assert not any((folder / step).exists() for step in steps)
    return run.result
