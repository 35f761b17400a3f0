"""Infers fields from a sample of Zeek's JSON lines, which show the JSON kind of a value but not its Zeek type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.meaning.guess import guess_ecs_name

from .json_values import FieldNaming, Record

# The types that JSON does not show, for names that mean the same in all of Zeek's logs.
_TYPES = {
    FieldType.TIME: "ts ref_time org_time rec_time xmt_time certificate.not_valid_before certificate.not_valid_after "
    "certificate_not_valid_before certificate_not_valid_after not_valid_before not_valid_after compile_ts "
    "times.modified times.accessed times.created times.changed times_modified times_accessed times_created "
    "times_changed thisUpdate nextUpdate revoketime up_since till from",
    FieldType.IP: "id.orig_h id.resp_h tx_hosts rx_hosts src dst client_addr server_addr assigned_addr requested_addr "
    "assigned_ip data_channel.orig_h data_channel.resp_h san.ip san_ip x_originating_ip bound.host request.host_addr",
    FieldType.PORT: "id.orig_p id.resp_p data_channel.resp_p port_num host_p bound_p request_p",
}
_BY_NAME = {name: kind for kind, names in _TYPES.items() for name in names.split()}
_NUMERIC = (FieldType.TIME, FieldType.PORT)
_NAME = re.compile(r"[A-Za-z_@][A-Za-z0-9_.@#-]{0,199}")


def infer_fields(sample: Iterable[Record], naming: FieldNaming) -> list[Field]:
    """Returns a field for each name whose values are all of one kind, in the order in which they occur.

    Other names belong in ``extra``.
    """
    kinds: dict[str, set[FieldType]] = {}
    lists: dict[str, set[bool]] = {}
    for record in sample:
        for name, value in iter_leaves(record, naming):
            lists.setdefault(name, set()).add(isinstance(value, list))
            types = kinds.setdefault(name, set())
            types.update(_type_of(item) for item in (value if isinstance(value, list) else [value]) if item is not None)
    fields = []
    for name, found in kinds.items():
        kind = _merge_types(name, found)
        if kind is None or len(lists[name]) > 1 or name == EXTRA_FIELD or not _NAME.fullmatch(name):
            continue
        ecs = guess_ecs_name(name, kind.value)
        is_list = lists[name] == {True}
        fields.append(Field(name, FieldType.LIST, items=kind, ecs=ecs) if is_list else Field(name, kind, ecs=ecs))
    return fields


def iter_leaves(record: Record, naming: FieldNaming, prefix: str = "", depth: int = 0) -> Iterable[tuple[str, Any]]:
    """Iterates over the values of a record that are no objects, with their names joined by dots."""
    for key, value in record.items():
        name = prefix + key
        if value is None or name in naming.ignored:
            continue
        if isinstance(value, dict):
            if depth < 8:
                yield from iter_leaves(value, naming, f"{name}.", depth + 1)
        else:
            yield naming.aliases.get(name, name), value


def _type_of(value: Any) -> FieldType:
    match value:
        case bool():
            return FieldType.BOOL
        case int():
            return FieldType.INT
        case float() | Decimal():
            return FieldType.FLOAT
        case str():
            return FieldType.STRING
    return FieldType.LIST


def _merge_types(name: str, types: set[FieldType]) -> FieldType | None:
    """Returns the type of a field by its name and the types of its values; None if they contradict each other."""
    named = _BY_NAME.get(name)
    if types == {FieldType.INT, FieldType.FLOAT}:
        types = {FieldType.FLOAT}
    if not types:
        return named or FieldType.STRING
    if len(types) > 1:
        return None
    (kind,) = types
    if kind is FieldType.LIST:
        return None
    if named in _NUMERIC and kind in (FieldType.INT, FieldType.FLOAT):
        return named if kind is FieldType.INT or named is FieldType.TIME else kind
    if named is FieldType.IP and kind is FieldType.STRING:
        return named
    if named is FieldType.TIME and name == "ts":
        return named
    return kind
