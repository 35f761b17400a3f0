"""Applies the stages of a pipe to the rows of an answer: sort, limit, having."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source
from watchfloor.schema.stats.having import filter_rows
from watchfloor.schema.stats.tree import Having, Limit, Sort, Stats
from watchfloor.schema.stats.type_check import list_columns
from watchfloor.store.encoding.addresses import encode_addresses


def apply_stages(table: pa.Table, stats: Stats, source: Source) -> pa.Table:
    """Returns the rows that the stages leave, in their order. Equal rows stay in the order of ``table``."""
    types = {column.name: column.scalar for column in list_columns(stats, source)}
    for stage in stats.stages:
        match stage:
            case Sort():
                table = table.take(_order_rows(table, stage, types))
            case Limit(rows):
                table = table.slice(0, rows)
            case Having(where):
                table = filter_rows(table, where, types)
    return table


def _order_rows(table: pa.Table, sort: Sort, types: Mapping[str, FieldType]) -> pa.Array:
    """Returns the places of the rows in their new order, null last. Addresses are ordered as numbers."""
    columns = {}
    for number, order in enumerate(sort.orders):
        column = table.column(order.column)
        if types[order.column] is FieldType.IP:
            column = encode_addresses(column.combine_chunks())
        columns[str(number)] = column
    orders = [(str(n), "descending" if order.descending else "ascending") for n, order in enumerate(sort.orders)]
    return pc.sort_indices(pa.table(columns), orders)  # which is stable
