"""Runs rules and correlations of tests by a hunt over tables in memory, in the place of a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from correlation_oracle import Told

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.rules.hunt import Hunt
from watchfloor.query.rules.packing import pack_rules
from watchfloor.query.service import QueryService
from watchfloor.query.texts.event_ids import ID_COLUMN
from watchfloor.schema.filter.sigma.correlations.rule_set import RuleSet, convert_rules
from watchfloor.schema.filter.sigma.rule_file import parse_rules
from watchfloor.schema.filter.type_check import read_tree, type_filter
from watchfloor.schema.source import Source
from watchfloor.schema.stats.having import find_rows
from watchfloor.schema.times import parse_time, to_micros


@dataclass(frozen=True)
class TableResult:
    """The answer to a query, in batches of few rows."""

    table: pa.Table

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.table.combine_chunks().to_batches(max_chunksize=50))

    def close(self) -> None:
        pass


@dataclass
class TableService:
    """Answers queries from tables, newest first, each event with its ID."""

    tables: Mapping[str, tuple[Source, pa.Table]]

    def run(self, request: QueryRequest) -> TableResult:
        source, table = self.tables[request.source]
        times = table.column(source.time_field).cast(pa.int64()).to_numpy()
        mask = np.ones(len(table), bool)
        if request.since is not None:
            mask &= times >= request.since
        if request.until is not None:
            mask &= times < request.until
        if request.where is not None:
            types = source.scalar_types
            mask &= find_rows(table, type_filter(read_tree(request.where), source), types)
        names = list(request.columns or source.fields_by_name)
        return TableResult(table.filter(pa.array(mask)).select([*names, ID_COLUMN]))


def add_ids(source: Source, table: pa.Table) -> tuple[Source, pa.Table]:
    """Returns events with an ID each."""
    ids = pa.array([f"{number}-{source.name}" for number in range(len(table))], pa.string())
    return source, table.append_column(ID_COLUMN, ids)


def read_documents(documents: Sequence[Mapping[str, Any]], known: Mapping[str, Source]) -> RuleSet:
    """Returns the rules of a file with these documents; JSON is YAML."""
    text = "\n---\n".join(json.dumps(document) for document in documents)
    return convert_rules(parse_rules(text.encode(), "rules.yml"), known)


def hunt_documents(
    documents: Sequence[Mapping[str, Any]], *tables: tuple[Source, pa.Table]
) -> dict[str, list[dict[str, Any]]]:
    """Returns the matches by the titles of the rules."""
    known = {source.name: (source, table) for source, table in tables}
    rules = read_documents(documents, {name: source for name, (source, _) in known.items()})
    assert not rules.failed, rules.failed
    packs = pack_rules(rules.rules, rules.correlations)
    hunt = Hunt(cast(QueryService, TableService(known)), packs, correlations=rules.correlations)
    found: dict[str, list[dict[str, Any]]] = {}
    for batch in hunt:
        for row in batch.to_pylist():
            found.setdefault(row["rule"], []).append({**row, "event": json.loads(row["event"])})
    assert {count.info.title: count.matches for count in hunt.counts.values() if count.matches} == {
        title: len(rows) for title, rows in found.items()
    }
    return found


def to_told(rows: Sequence[Mapping[str, Any]]) -> list[Told]:
    """Returns matches of a correlation as the oracle tells them."""
    told = []
    for row in rows:
        event = row["event"]
        time, first, last = to_micros(row["time"]), parse_time(event["first"], 0), parse_time(event["last"], 0)
        told.append(Told(tuple(event["group"].items()), time, first, last, event["count"], event.get("values")))
    return sorted(told)
