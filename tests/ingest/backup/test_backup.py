"""An export that is imported gives the same source: events, counts, sightings, labels, quarantined lines and ledger.

In `make test`: files of a few hundred lines.
"""

from __future__ import annotations

import json
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import RUN, START, counts, exactly, ledger_rows, line, load, log_file, own, source

from watchfloor.ingest.backup.export import Export, export_sources
from watchfloor.ingest.backup.restore import import_sources
from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import drop_source
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LINES = 400


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        opened.grace = 0.0
        yield opened


def texts_of(store: Store, name: str, where: str | None = None) -> Counter[str]:
    request = QueryRequest(name, where=where, columns=("text",))
    return Counter(text for batch in QueryService(store).run(request) for text in batch.column("text").to_pylist())


def renamed(kind: Source, name: str) -> Source:
    return parse_definition({**kind.definition, "name": name})


def test_an_imported_source_is_the_exported_one(
    store_settings: Settings, store: Store, tmp_path: Path, layout: str
) -> None:
    """The source is dropped in between, with its rows in the ledger: as in another store."""
    kind = store.catalog.register(source("moved", layout))
    good = log_file(tmp_path / "a.log", LINES)
    mixed = tmp_path / "b.log"
    mixed.write_text("".join(line(n, "b") + "\n" for n in range(LINES)) + "no event\n" * 3)
    settings = own(store_settings, "moved")
    assert load(settings, good, mixed, feed=kind.name).events == 2 * LINES
    before = texts_of(store, kind.name), texts_of(store, kind.name, "host = h1")
    done = export_sources(store, [kind.name], tmp_path / "backup")
    assert done.manifest.sources[kind.name].events == 2 * LINES
    assert counts(store, kind) == exactly(kind, 2 * LINES)
    drop_source(store.connection, kind)
    store.catalog.read_sources()
    assert kind.name not in store.catalog.read_sources()
    imported = import_sources(store, tmp_path / "backup")
    assert imported.events == {kind.name: 2 * LINES}
    assert store.catalog.read_sources()[kind.name] == kind
    assert counts(store, kind) == exactly(kind, 2 * LINES)
    assert (texts_of(store, kind.name), texts_of(store, kind.name, "host = h1")) == before
    again = load(settings, good, mixed, feed=kind.name)
    assert again.events == 0 or counts(store, kind) == exactly(kind, 2 * LINES)
