"""Reads the order of a query's events: the ``sort`` of stats, over the fields of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.names import find_single_field
from watchfloor.schema.source import Source

from .json_form import read_sort
from .parse import PartPlace, parse_sort
from .print import format_orders
from .tree import Order, Sort

MAX_ORDERS = 8
"""The most fields to sort by."""
SortInput = str | Sequence[str]
"""An order as text, ``-duration, ts``, or as a list of fields, ``["-duration", "ts"]``."""


@dataclass(frozen=True)
class TypedSort:
    """An order by fields of a source, each once.

    ``meanings`` are the fields that each ECS name and each kind in it stands for.
    """

    orders: tuple[Order, ...]
    meanings: Mapping[str, tuple[str, ...]]

    def to_text(self) -> str:
        """Returns the order as the language writes it."""
        return format_orders(self.orders)


@dataclass(frozen=True)
class ParsedSort:
    """An untyped order; its text, empty if it was given as a list, and the place of each field in it."""

    tree: Sort
    text: str
    places: tuple[PartPlace, ...]


def read_orders(sort: SortInput) -> ParsedSort:
    """Returns an untyped order. Raises ``FilterError`` if it does not parse or has too many fields."""
    if isinstance(sort, str):
        parsed = ParsedSort(*parse_sort(sort))
    else:
        tree = read_sort(list(sort), "sort")
        parsed = ParsedSort(tree, "", (PartPlace(0),) * len(tree.orders))
    orders = parsed.tree.orders
    if len(orders) > MAX_ORDERS:
        message = f"the sort has {len(orders):,} fields; at most {MAX_ORDERS} are allowed"
        raise FilterError(message, parsed.text, parsed.places[MAX_ORDERS].position)
    return parsed


def type_sort(sort: SortInput, source: Source, further: Mapping[str, str] | None = None) -> TypedSort:
    """Returns an order typed by a source; ``further`` are names of fields that hold beside the source's own.

    Raises ``FilterError`` for a name that stands for no field or for several, for a list, and for a field that comes
    twice.
    """
    parsed = read_orders(sort)
    orders: list[Order] = []
    meanings = {}
    for order, place in zip(parsed.tree.orders, parsed.places, strict=True):
        name = (further or {}).get(order.column, order.column)
        field = find_single_field(source, name, parsed.text, place.position)
        reason = f"{field.name} is a list, and lists have no order" if field.is_list else ""
        if field.name in (known.column for known in orders):
            reason = f"{field.name} comes twice in the sort; name it once"
        if reason:
            raise FilterError(reason, parsed.text, place.position)
        if order.column != field.name:
            meanings[order.column] = (field.name,)
        orders.append(Order(field.name, order.descending))
    return TypedSort(tuple(orders), meanings)
