"""Compiles what is to be computed of groups of events into bytes that tablet servers run (Java's ``StatsProgram``).

Each aggregate needs one state or two of each group. States of the same group from several servers, or from several
parts of a time range, can be merged.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.source import Source
from watchfloor.schema.stats.tree import Aggregate, BucketKey, FieldKey, Key, PrefixKey
from watchfloor.store.encoding.program import compile_filter, encode_field, list_sets
from watchfloor.store.encoding.value_sets import ValueSet


class StateKind(IntEnum):
    """The kinds of states of a group; Java's ``StatsProgram.StateKind`` describes each."""

    EVENTS = 0
    EVENTS_WITH = 1
    EVENTS_WHERE = 2
    VALUES = 3
    SUM_INT = 4
    SUM_FLOAT = 5
    MIN = 6
    MAX = 7
    FIRST = 8
    LAST = 9
    SET = 10
    HISTOGRAM_INT = 11
    HISTOGRAM_FLOAT = 12


@dataclass(frozen=True)
class StatePart:
    """A state of a field, of a filter, or of all events."""

    kind: StateKind
    field: str | None = None
    where: Filter | None = None


@dataclass(frozen=True)
class StatsProgram:
    """The groups and their states, the bytes by which servers compute them, and the sets that their filters name."""

    keys: tuple[Key, ...]
    states: tuple[StatePart, ...]
    data: bytes
    sets: tuple[ValueSet, ...]


def compile_program(keys: Sequence[Key], states: Sequence[StatePart], source: Source) -> StatsProgram:
    """Returns the program of typed keys and states. ``docs/keys.md`` has the format."""
    fields: list[str] = [name for key in keys if (name := _field_of(key)) is not None]
    fields += [state.field for state in states if state.field is not None]
    # The time is always the last field.
    names = [*dict.fromkeys(name for name in fields if name != source.time_field), source.time_field]
    filters = [state.where for state in states if state.where is not None]
    parts = [struct.pack(">H", len(names))]
    parts += [encode_field(name, source) for name in names]
    parts.append(struct.pack(">H", len(filters)))
    for tree in filters:
        program = compile_filter(tree, source)
        parts.append(struct.pack(">I", len(program)) + program)
    parts.append(struct.pack(">B", len(keys)))
    parts += [_encode_key(key, names) for key in keys]
    parts.append(struct.pack(">B", len(states)))
    for state in states:
        of = 0
        if state.where is not None:
            of = filters.index(state.where)
        elif state.field is not None:
            of = names.index(state.field)
        parts.append(struct.pack(">BH", state.kind, of))
    sets = tuple(dict.fromkeys(one for tree in filters for one in list_sets(tree)))
    return StatsProgram(tuple(keys), tuple(states), b"".join(parts), sets)


def list_states(aggregate: Aggregate, source: Source) -> tuple[StatePart, ...]:
    """Returns the states that an aggregate is computed from."""
    if aggregate.field is None:
        kind = StateKind.EVENTS if aggregate.where is None else StateKind.EVENTS_WHERE
        return (StatePart(kind, where=aggregate.where),)
    name = aggregate.field
    is_float = source.find_field(name).scalar is FieldType.FLOAT
    match aggregate.function:
        case "count":
            return (StatePart(StateKind.EVENTS_WITH, name),)
        case "sum" | "avg":
            total = StateKind.SUM_FLOAT if is_float else StateKind.SUM_INT
            return StatePart(total, name), StatePart(StateKind.VALUES, name)
        case "quantile":
            return (StatePart(StateKind.HISTOGRAM_FLOAT if is_float else StateKind.HISTOGRAM_INT, name),)
        case "distinct" | "values":
            return (StatePart(StateKind.SET, name),)
    return (StatePart(StateKind[aggregate.function.upper()], name),)


def _field_of(key: Key) -> str | None:
    return None if isinstance(key, BucketKey) else key.field


def _encode_key(key: Key, names: Sequence[str]) -> bytes:
    """Returns kind, field, width and bits of a key."""
    match key:
        case BucketKey():
            return struct.pack(">BHqBB", 1, len(names) - 1, key.width, 0, 0)
        case PrefixKey():
            return struct.pack(">BHqBB", 2, names.index(key.field), 0, key.bits, key.bits6)
        case FieldKey():
            return struct.pack(">BHqBB", 0, names.index(key.field), 0, 0, 0)
