"""Compares a definition with the known source of its name: what it changes there, and what cannot change.

The reading rules (``parser``) hold for what is read from then on. What stored events depend on stays: types, times,
labels, layout and tablets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.source import Source
from watchfloor.schema.text import list_names

_MOST_NAMED = 12


def check_redefinition(known: Source, wanted: Source, where: str) -> None:
    """Raises ``DefinitionError`` with all that ``wanted`` says otherwise of what cannot change, and with the remedy.

    ``where`` is the definition's name in errors.
    """
    faults = [*_compare_storage(known, wanted), *_compare_fields(known, wanted)]
    if faults:
        lines = [f"{where}{fault}" for fault in faults[:_MOST_NAMED]]
        if len(faults) > _MOST_NAMED:
            lines.append(f"and {len(faults) - _MOST_NAMED:,} further places")
        places = "".join(f"\n  {line}" for line in lines)
        raise DefinitionError(
            f"{known.name} is known, and nothing of it was changed: its stored events depend on{places}\n"
            f"`watchfloor sources show {known.name}` prints what is stored; take that over, or give the new definition "
            f"another name, add it, and load the logs into that source"
        )


def describe_changes(before: Source, after: Source) -> list[str]:
    """Returns what differs between two states of a source, in words."""
    new = [f.name for f in after.fields if f.name not in before.fields_by_name]
    both = [(before.fields_by_name[f.name], f) for f in after.fields if f.name in before.fields_by_name]
    found = {
        "the title": [""] * (before.title != after.title),
        "unknown fields": [after.unknown_fields] * (before.unknown_fields != after.unknown_fields),
        "the parser's": _find_differences(before.parser, after.parser),
        "new fields": new,
        "indexed": [f.name for old, f in both if f.is_indexed and not old.is_indexed],
        "indexed in reverse": [f.name for old, f in both if f.is_reversed and not old.is_reversed],
        "ECS names of": [f.name for old, f in both if f.ecs != old.ecs],
    }
    return [f"{what} {list_names(names, _MOST_NAMED)}".strip() for what, names in found.items() if names]


def list_kept_fields(before: Source, wanted: Source) -> list[str]:
    """Returns the names of known fields that ``wanted`` lacks, which stay all the same."""
    return [f.name for f in before.fields if f.name not in wanted.fields_by_name]


def _compare_storage(known: Source, wanted: Source) -> Iterable[str]:
    told = wanted.definition
    pairs: dict[str, tuple[Any, Any]] = {
        "timestamp.field": (known.time_field, wanted.time_field),
        "timestamp.format": (known.time_format, wanted.time_format),
        "visibility": (known.visibility, wanted.visibility),
        "layout": (known.layout, told.get("layout", known.layout)),
        "shards": (known.shards, told.get("shards", known.shards)),
        f"parser.fields.{known.time_field}": (_find_rule(known, known), _find_rule(wanted, known)),
    }
    for place, (stored, asked) in pairs.items():
        if stored != asked:
            yield f".{place}: {_quote(stored)} is stored, not {_quote(asked)}"


def _compare_fields(known: Source, wanted: Source) -> Iterable[str]:
    for field in wanted.fields:
        stored = known.fields_by_name.get(field.name)
        if stored is None:
            continue
        if stored.type_name != field.type_name:
            yield f".fields: {field.name} is stored as {stored.type_name}, not {field.type_name}"
        if stored.visibility != field.visibility:
            labels = _quote(stored.visibility), _quote(field.visibility)
            yield f".fields: {field.name} is stored with the label {labels[0]}, not {labels[1]}"


def _find_rule(source: Source, known: Source) -> Any:
    """Returns a source's rule for the time of ``known``; it says when stored events are."""
    return source.parser.get("fields", {}).get(known.time_field)


def _find_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Returns the members that differ; of members with members of their own, the inner ones."""
    names = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            names += [f"{name}.{inner}" for inner in _find_differences(old, new)]
        elif old != new:
            names.append(name)
    return names


def _quote(value: Any) -> str:
    return "nothing" if value in (None, "") else str(value)
