"""New sources are stored as blocks by default, and sources of an older catalog stay in cells.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import counts, exactly, load, log_file, own, source

from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin import tables
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.store import Store

MORE = {"name": "more", "type": "string"}


@pytest.fixture
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def silent(name: str) -> dict[str, object]:
    """A definition that says nothing of its layout."""
    return {key: value for key, value in source(name).definition.items() if key != "layout"}


def stored_layout(store: Store, name: str) -> object:
    """Returns the layout in the catalog's own bytes."""
    ranges = Ranges()
    ranges.add_row(name.encode())
    (value,) = [
        v for batch in store.scan(EntryScan(tables.SOURCES_TABLE, ranges)) for v in batch.column("value").to_pylist()
    ]
    return json.loads(value).get("layout")


def test_definitions_that_say_nothing_are_of_blocks() -> None:
    assert parse_definition(silent("any")).layout == "block"
    assert parse_definition({**silent("any"), "layout": "cell"}).layout == "cell"
    assert {shipped.layout for shipped in builtin_definitions().values()} == {"block"}


@pytest.mark.stack
def test_a_new_source_has_its_layout_written_down(store: Store) -> None:
    kind = store.catalog.register(parse_definition(silent("new")))
    assert (kind.layout, stored_layout(store, kind.name)) == ("block", "block")


@pytest.mark.stack
def test_a_source_that_was_stored_before_blocks_were_the_default_stays_in_cells(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    old = parse_definition(silent("old"))
    readers = [store_settings.read_credentials("query").user]
    tables.create_source_tables(store.connection, old, readers)
    store.put(tables.SOURCES_TABLE, [(old.name.encode(), b"", b"", old.to_json().encode())])
    settings = own(store_settings, "old")
    result = load(settings, log_file(tmp_path / "a.log", 500), feed=old.name)
    assert result.events == 500
    kind = store.catalog.find_source(old.name)
    assert kind.layout == "cell" and counts(store, kind) == exactly(kind, 500)

    wider = store.catalog.register(parse_definition({**old.definition, "fields": [*old.definition["fields"], MORE]}))
    assert (wider.layout, wider.fields_by_name.keys() - old.fields_by_name.keys()) == ("cell", {"more"})
    assert stored_layout(store, old.name) == "cell"
    load(settings, log_file(tmp_path / "b.log", 700, "b"), feed=old.name)
    assert counts(store, wider) == exactly(wider, 1200)
