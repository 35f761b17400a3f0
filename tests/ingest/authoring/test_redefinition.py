"""A definition of a known source says what it changes, and what cannot change with the way to get there.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from watchfloor.api.cli.commands.sources import describe_redefinition
from watchfloor.ingest.authoring.redefinition import check_redefinition, describe_changes
from watchfloor.schema.definition import add_fields, builtin_definitions, parse_definition
from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.source import Source

FIELDS: list[dict[str, Any]] = [
    {"name": "when", "type": "time"},
    {"name": "code", "type": "string"},
    {"name": "who", "type": "string", "indexed": True},
    {"name": "floors", "type": "list", "items": "int"},
]


def define(parser: Mapping[str, Any] | None = None, fields: list[dict[str, Any]] = FIELDS, **more: Any) -> Source:
    return parse_definition(
        {
            "name": "lab.doors",
            "parser": {"format": "delimited", **(parser or {})},
            "timestamp": {"field": "when", "format": "iso8601"},
            "fields": fields,
            **more,
        }
    )


def change_field(number: int, **changes: Any) -> list[dict[str, Any]]:
    changed = [dict(field) for field in FIELDS]
    changed[number] = {name: value for name, value in {**changed[number], **changes}.items() if value is not None}
    return changed


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        (define(fields=change_field(1, type="int")), "d.json.fields: code is stored as string, not int"),
        (define(fields=change_field(3, items="port")), "floors is stored as list of int, not list of port"),
        (define(fields=change_field(2, visibility="hr")), "who is stored with the label nothing, not hr"),
        (
            define(timestamp={"field": "when", "format": "epoch"}),
            "d.json.timestamp.format: iso8601 is stored, not epoch",
        ),
        (define(layout="cell"), "d.json.layout: block is stored, not cell"),
        (define(shards=9), "d.json.shards: 4 is stored, not 9"),
        (define(visibility="hr"), "d.json.visibility: nothing is stored, not hr"),
        (
            define({"fields": {"when": {"from": "then"}}}),
            "d.json.parser.fields.when: nothing is stored, not {'from': 'then'}",
        ),
    ],
)
def test_what_stored_events_depend_on_is_refused_with_its_place_and_the_remedy(wanted: Source, place: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        check_redefinition(define(), wanted, "d.json")
    said = str(refused.value)
    assert place in said
    assert said.startswith("lab.doors is known, and nothing of it was changed")
    assert "`watchfloor sources show lab.doors`" in said and "another name" in said


def test_all_faults_are_told_at_once_and_long_lists_are_cut() -> None:
    fields = [FIELDS[0], *({"name": f"f{number}", "type": "int"} for number in range(2000 - 1))]
    others = [FIELDS[0], *({**field, "type": "string"} for field in fields[1:])]
    with pytest.raises(DefinitionError) as refused:
        check_redefinition(define(fields=fields), define(fields=others, shards=2), "d.json")
    said = str(refused.value)
    assert said.count("\n") == 14 and ".shards: 4" in said and "and 1,988 further places" in said
    (new,) = describe_changes(define(), define(fields=[*FIELDS, *fields[1:1990]]))
    assert new == f"new fields {', '.join(f'f{number}' for number in range(12))} and 1,977 more"


def test_reading_rules_may_change_and_every_change_is_told() -> None:
    known = define({"delimiter": "|", "fields": {"code": {"from": "c"}, "who": {"from": "w"}}}, title="Doors")
    fields = [{**FIELDS[1], "indexed": True}, {**FIELDS[2], "ecs": "user.name"}, {"name": "extra", "type": "string"}]
    wanted = define(
        {
            "delimiter": ";",
            "quote": None,
            "fields": {"code": {"from": "c", "convert": ["upper"]}, "who": {"from": "w"}},
        },
        [FIELDS[0], *fields],
        unknown_fields="extra",
    )
    check_redefinition(known, wanted, "d.json")
    rules = known.adopt_ecs_names(wanted.fields, replaced=True).replace_rules(wanted)
    assert parse_definition(rules.append_fields(wanted.fields).definition).parser == wanted.parser
    stored = add_fields(rules, wanted.fields)
    assert (stored.title, stored.unknown_fields, stored.parser) == ("lab.doors", "extra", wanted.parser)
    assert [f.name for f in stored.fields] == ["when", "code", "who", "floors", "extra"]
    assert describe_redefinition(known, wanted, stored) == [
        "  changed: the title",
        "  changed: unknown fields extra",
        "  changed: the parser's delimiter, fields.code.convert",
        "  changed: new fields extra",
        "  changed: ECS names of who",
        "  kept: fields that the definition lacks: floors",
        "  this holds for what is read from now on: `watchfloor load --again FILE…` reads loaded files anew, "
        "`watchfloor quarantine retry` their quarantined lines",
    ]


def test_an_index_that_the_definition_lacks_is_kept_and_said() -> None:
    wanted = define(fields=change_field(2, indexed=None))
    assert describe_redefinition(define(), wanted, define()) == [
        "  nothing to change: the source is so already",
        "  kept: the index of who",
    ]


@pytest.mark.parametrize("source", builtin_definitions().values(), ids=builtin_definitions())
def test_what_is_stored_can_be_given_back(source: Source) -> None:
    stored = source.replace_shards(7).replace_layout("cell")
    shown = parse_definition(stored.to_json())
    check_redefinition(stored, shown, "d.json")
    assert stored.replace_rules(shown) == stored
    assert describe_changes(stored, shown) == []
