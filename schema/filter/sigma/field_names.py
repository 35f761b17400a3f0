"""Finds the fields of a source that a name in a rule means.

In this order: the names that the table of log sources gives for the source, the source's own names, its names without
regard to case, and by ``tables/field_names.json`` the ECS names and other names of what rules call so. The last are
alternatives: the first of which the source has fields is taken, with all its fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.field import Field
from watchfloor.schema.filter.names import find_fields

from .log_sources import MeantSource


def find_meant_fields(meant: MeantSource, name: str) -> tuple[Field, ...]:
    """Returns the fields of a source that a rule's name means; none if the source has no such field."""
    source = meant.source
    for own in meant.names.get(name, ()):
        if own in source.fields_by_name:
            return (source.fields_by_name[own],)
    if lacks(meant, name):
        return ()
    if name in source.fields_by_name:
        return (source.fields_by_name[name],)
    alike = [field for field in source.fields if field.name.lower() == name.lower()]
    if alike:
        return (alike[0],)
    for names in load_alternatives().get(name, ([name],)):
        found = dict.fromkeys(field for one in names for field in find_fields(source, one))
        if found:
            return tuple(found)
    return ()


def lacks(meant: MeantSource, name: str) -> bool:
    """Returns whether the table of log sources says, by no names for it, that events of a source never have a field."""
    return name in meant.names and not meant.names[name]


def keeps_unknown(meant: MeantSource, name: str) -> bool:
    """Returns whether a source may have a field that its definition lacks in its field ``extra``."""
    return (
        not lacks(meant, name) and meant.source.unknown_fields == "extra" and EXTRA_FIELD in meant.source.fields_by_name
    )


@cache
def load_alternatives() -> Mapping[str, Sequence[Sequence[str]]]:
    """Returns for each name of rules the alternatives, each a list of names that are taken together."""
    table: Mapping[str, Sequence[Sequence[str]]] = json.loads(
        (files(__package__) / "tables" / "field_names.json").read_text("utf-8")
    )
    return table
