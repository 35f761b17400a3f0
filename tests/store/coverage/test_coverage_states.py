"""An index's coverage begins, is completed and is cut off by plain functions of a definition.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from coverage_sources import COLOUR, INDEXED, SECOND, TAGS, covered_from, definition

from watchfloor.schema.coverage import (
    complete_indexes,
    cover_all,
    cover_from,
    has_partial_index,
    has_started_index,
    lacks_index,
    start_indexes,
)
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.field import VALUE_INDEX, Field, Index, IndexKind
from watchfloor.schema.times import END_OF_TIME


def test_what_a_field_covers() -> None:
    plain, indexed = definition(COLOUR).find_field("colour"), definition(INDEXED[0]).find_field("colour")
    assert not plain.is_covered(END_OF_TIME) and indexed.is_covered(None) and indexed.is_covered(0)
    later = replace(indexed, indexes=(Index(IndexKind.VALUES, 100), Index(IndexKind.REVERSED, 200)))
    assert [later.is_covered(since) for since in (None, 0, 99, 100, 101)] == [False, False, False, True, True]
    assert [later.is_covered(t, IndexKind.REVERSED) for t in (None, 100, 199, 200)] == [False, False, False, True]
    assert not replace(indexed, indexes=(VALUE_INDEX,)).is_covered(0, IndexKind.REVERSED)


def test_a_source_is_restricted_to_what_its_indexes_cover() -> None:
    kind = definition(
        {**COLOUR, "indexed": True, "indexed_from": "1970-01-01T00:00:01Z", "reversed": True},
        {"name": "shape", "type": "string", "indexed": True, "reversed": True, "reversed_from": "1970-01-01T00:00:02Z"},
        {**TAGS, "indexed": True},
    )
    for since, indexed, reversed_ in (
        (None, ["shape", "tags"], []),
        (SECOND, ["colour", "shape", "tags"], ["colour"]),
        (2 * SECOND, ["colour", "shape", "tags"], ["colour", "shape"]),
    ):
        usable = kind.restrict_indexes(since)
        assert [f.name for f in usable.indexed_fields] == indexed
        assert [f.name for f in usable.fields if f.is_reversed] == reversed_
        assert parse_definition(usable.to_json()) == usable, "its definition says the same"
    assert kind.restrict_indexes(2 * SECOND) is kind


def test_an_index_begins_and_is_given_a_start() -> None:
    stored, wanted = definition(COLOUR, TAGS), definition(*INDEXED)
    begun = start_indexes(stored, wanted.fields)
    field = begun.find_field("colour")
    assert field.indexes == (Index(IndexKind.VALUES, END_OF_TIME), Index(IndexKind.REVERSED, END_OF_TIME))
    assert has_started_index(begun) and not has_started_index(stored) and not has_started_index(wanted)
    started = cover_from(begun, 1_700_000_000_000_001)
    field = started.find_field("colour")
    assert [index.covers_from for index in field.indexes] == [1_700_000_000_000_001] * 2
    assert not has_started_index(started)
    assert started.definition["fields"][1]["indexed_from"] == "2023-11-14T22:13:20.000001Z"
    assert parse_definition(started.to_json()) == started
    assert start_indexes(started, wanted.fields) == started == start_indexes(started, stored.fields), "no index ends"
    assert cover_all(started) == wanted

    first = cover_from(start_indexes(stored, [replace(wanted.find_field("colour"), indexes=(VALUE_INDEX,))]), 5)
    second = cover_from(start_indexes(first, wanted.fields), 9).find_field("colour")
    assert [index.covers_from for index in second.indexes] == [5, 9], "each index has a start of its own"
    other = Field(
        "colour", definition({"name": "colour", "type": "int"}).find_field("colour").type, indexes=(VALUE_INDEX,)
    )
    assert start_indexes(stored, [other, Field("new", other.type, indexes=(VALUE_INDEX,))]) == stored


def test_an_index_is_completed() -> None:
    stored, wanted = definition(COLOUR, TAGS), definition(*INDEXED)
    then = cover_from(start_indexes(stored, [wanted.find_field("colour")]), 5)
    now = cover_from(start_indexes(then, [wanted.find_field("tags")]), 9)
    assert has_partial_index(then) and has_partial_index(now)
    assert not has_partial_index(wanted) and not has_partial_index(stored)
    done = complete_indexes(now, then)
    assert [covered_from(done, name) for name in ("colour", "tags")] == [0, 9], "what began since is not complete"
    assert complete_indexes(done, now) == wanted


def test_which_index_is_lacking() -> None:
    plain, indexed = definition(COLOUR, TAGS), definition(*INDEXED)
    forward = definition({**COLOUR, "indexed": True}, {**TAGS, "indexed": True})
    assert lacks_index(plain, indexed) and lacks_index(plain, forward) and lacks_index(forward, indexed)
    assert not lacks_index(indexed, indexed) and not lacks_index(indexed, forward)
    assert not lacks_index(definition(COLOUR), definition(COLOUR, INDEXED[1])), "it has no values of a new field"


@pytest.mark.parametrize("time", ["soon", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", 5])
def test_a_start_that_is_no_time_is_refused(time: object) -> None:
    with pytest.raises(DefinitionError, match=r"fields\[1\]\.indexed_from"):
        definition({**COLOUR, "indexed": True, "indexed_from": time})
