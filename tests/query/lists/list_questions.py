"""Drawn named lists and queries within filters, spelled out for the oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

import pyarrow as pa
from oracle import Rows

from watchfloor.schema.field import ARROW_TYPES, FieldType
from watchfloor.schema.filter.tree import And, Cidr, Filter, In, InList, InQuery, Not, Or
from watchfloor.schema.lists.list_file import ListValues
from watchfloor.schema.source import Source


@dataclass(frozen=True)
class DrawnList:
    """Values of a type, as events have them, and networks."""

    scalar: FieldType
    values: Sequence[Any]
    networks: Sequence[IPv4Network | IPv6Network] = ()

    def to_values(self) -> ListValues:
        texts = [str(value) if self.scalar is FieldType.IP else value for value in self.values]
        column = pa.array(texts, ARROW_TYPES[self.scalar])
        return ListValues(self.scalar.value, self.scalar, column, tuple(self.networks))


def spell_out(
    tree: Filter, lists: Mapping[str, DrawnList], events: Sequence[Mapping[str, Any]], source: Source
) -> Filter:
    """Returns a filter with the values of its lists, and of the queries within it over ``events``, written out."""

    def write_out(node: Filter) -> Filter:
        match node:
            case And(children) | Or(children):
                return type(node)(tuple(map(write_out, children)))
            case Not(child):
                return Not(write_out(child))
            case InList(field, name):
                drawn = lists[name]
                return Or((In(field, tuple(drawn.values)), *(Cidr(field, network) for network in drawn.networks)))
            case InQuery(field, _, where, column):
                return In(field, tuple(_find_values(where, column)))
        return node

    def _find_values(where: Filter | None, column: str) -> list[Any]:
        names = [one.name for one in source.fields]
        holding = [True] * len(events) if where is None else Rows(names, events).holding(write_out(where)).tolist()
        held = [event.get(column) for event, holds in zip(events, holding, strict=True) if holds]
        elements = [e for value in held for e in (value if isinstance(value, list) else [value]) if e is not None]
        convert: Callable[[Any], Any] = ip_address if source.find_field(column).scalar is FieldType.IP else lambda v: v
        return [convert(value) for value in dict.fromkeys(elements)]

    return write_out(tree)
