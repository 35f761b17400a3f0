"""The index of reversed values agrees with plain Python, with and without servers, in both layouts.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loaded import LAYOUTS, batch_of
from reversed_values import (
    ENDINGS,
    FIELDS,
    REVERSED,
    VALUES,
    Entry,
    Event,
    as_written,
    assert_mirrored,
    split,
    values_of,
)

from watchfloor.schema.definition import add_fields, parse_definition
from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.filter.tree import make_ends_with
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import index_table, shard_names
from watchfloor.store.index.index_rows import find_value_rows
from watchfloor.store.layouts.registry import find_layout


def definition(layout: str) -> Source:
    fields = [{"name": "ts", "type": "time"}, {"name": "a", "type": "string", "indexed": True}, *FIELDS]
    shared = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 3, "visibility": "staff"}
    return parse_definition({"name": f"test.turned_{layout}", "layout": layout, "fields": fields, **shared})


texts = st.none() | st.sampled_from(VALUES) | st.text(max_size=5)
events_of = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 3 * 86400).map(lambda s: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=s)),
            "a": st.none() | st.sampled_from(["", "domain", "\x01"]),
            "domain": texts,
            "names": st.none() | st.lists(texts, max_size=3),
        }
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(events=events_of)
def test_what_is_written(layout: str, events: list[Event]) -> None:
    kind = definition(layout)
    encoder = find_layout(kind).make_encoder(kind, b"f" * 16, b"i" * 8)
    entries: list[Entry] = []
    for write in encoder.encode(batch_of(kind, events)) + encoder.finish():
        if write.table == index_table(kind):
            names = ("row", "qualifier", "visibility", "value")
            entries += zip(*(write.batch.column(name).to_pylist() for name in names), strict=True)
            assert write.entries == len(write.batch)
    assert_mirrored(kind, entries, events)
    for ending in ENDINGS:
        start = find_value_rows(make_ends_with("domain", ending), kind).start
        prefixes = {shard + start for shard in shard_names(kind.shards)}
        found = {row for row, *_ in entries if any(row.startswith(prefix) for prefix in prefixes)}
        having = {v for event in events for v in values_of(event, "domain") if v.endswith(ending)}
        assert all(split(row)[1:3] == ("domain", True) for row in found)
        written = {split(row)[3] for row in found}
        assert written >= set(map(as_written, having))
        assert len(ending.encode()) > 1000 or written == set(map(as_written, having))


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"name": "x", "type": "string", "reversed": True}, r"fields\[1\]\.reversed: 'x' is not indexed; add"),
        ({"name": "x", "type": "int", "indexed": True, "reversed": True}, "'x' is int; only strings and lists of"),
        ({"name": "x", "type": "ip", "indexed": True, "reversed": True}, "'x' is ip; only strings"),
        (
            {"name": "x", "type": "list", "items": "port", "indexed": True, "reversed": True},
            "'x' is list of port; only strings",
        ),
        ({"name": "x", "type": "string", "indexed": True, "reversed": "yes"}, r"fields\[1\]\.reversed"),
        ({"name": "x\x01", "type": "string"}, r"fields\[1\]\.name"),
        ({"name": "x\x01y", "type": "string"}, r"fields\[1\]\.name"),
        ({"name": "x\n", "type": "string"}, r"fields\[1\]\.name"),
    ],
)
def test_definitions_that_are_refused(field: dict[str, Any], message: str) -> None:
    fields = [{"name": "ts", "type": "time"}, field]
    with pytest.raises(DefinitionError, match=message):
        parse_definition({"name": "a.b", "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_definition_keeps_what_it_says(layout: str) -> None:
    kind = definition(layout)
    assert [f.name for f in kind.fields if f.is_reversed] == list(REVERSED)
    assert parse_definition(kind.to_json()) == kind
    bare = parse_definition({**kind.definition, "fields": kind.definition["fields"][:2]})
    assert add_fields(bare, kind.fields) == kind
