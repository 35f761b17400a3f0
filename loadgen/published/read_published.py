"""Reads the tables that the studies published from ``published.json``: facts, with the study and the place of each.

A column's name ends with its unit. Sizes of tables are in entries, also where the study prints billions. The figures
are those of other machines: ``Study.differs`` says what may be compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

PUBLISHED = Path(__file__).with_name("published.json")
StudyName = Literal["llcysa", "benchmark", "security", "erasure-coding"]
Row = Mapping[str, Any]
"""The cells of a row by their column: numbers, texts and truths; None where the study has no value."""


@dataclass(frozen=True)
class PublishedTable:
    """A table of a study, ``number`` its number there, or a name of ours if it has none.

    ``about`` are the conditions under which its figures were measured, ``notes`` what should be known of its cells.
    ``rates`` are the columns that grow with the cluster: a comparison with a cluster of another size divides them.
    """

    number: str
    title: str
    place: str
    about: str
    columns: Sequence[str]
    rates: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]

    def select_rows(self, **cells: Any) -> list[Row]:
        """Returns the rows that have all these cells."""
        return [row for row in self.rows if all(row[column] == value for column, value in cells.items())]


@dataclass(frozen=True)
class Study:
    """A study: its question, its machines and versions, what differs from a run here, and its tables by their number.

    ``visibilities`` and ``authorizations`` are the labels of its entries and readers, if it had any.
    """

    name: StudyName
    title: str
    source: str
    year: int
    question: str
    cluster: str
    differs: str
    tables: Mapping[str, PublishedTable]
    visibilities: Sequence[str] = ()
    authorizations: Sequence[str] = ()

    def cite(self, number: str) -> str:
        """Returns the source of a table, as a note beside a figure names it."""
        return f"{self.source}, {self.tables[number].place}"


@dataclass(frozen=True)
class ScaledRate:
    """A rate of a whole cluster, and its shares.

    ``tablet_servers`` and ``per_tablet_server`` are None where the study does not tell their number.
    """

    row: Row
    rate: float
    nodes: int
    tablet_servers: int | None
    per_node: float
    per_tablet_server: float | None


@cache
def load_published() -> Mapping[StudyName, Study]:
    """Returns all studies by their name."""
    written = json.loads(PUBLISHED.read_text("utf-8"))
    return {name: _parse_study(name, study) for name, study in written.items()}


def scale_rates(table: PublishedTable, column: str) -> Iterator[ScaledRate]:
    """Yields the rate in ``column`` of each row, for a node and for a tablet server too.

    Raises ``ValueError`` if the column has no rate of a whole cluster.
    """
    if column not in table.rates or "nodes" not in table.columns:
        raise ValueError(f"table {table.number}: {column} is no rate of a cluster of known size")
    for row in table.rows:
        rate, nodes, servers = float(row[column]), row["nodes"], row.get("tablet_servers")
        yield ScaledRate(row, rate, nodes, servers, rate / nodes, rate / servers if servers else None)


def _parse_study(name: StudyName, written: Mapping[str, Any]) -> Study:
    tables = {number: _parse_table(number, table) for number, table in written["tables"].items()}
    return Study(name=name, **{**written, "tables": tables})


def _parse_table(number: str, written: Mapping[str, Any]) -> PublishedTable:
    columns = tuple(written["columns"])
    return PublishedTable(
        number=number,
        title=written["title"],
        place=written["place"],
        about=written.get("about", ""),
        columns=columns,
        rates=tuple(written.get("rates", ())),
        rows=tuple(dict(zip(columns, row, strict=True)) for row in written["rows"]),
        notes=tuple(written.get("notes", ())),
    )
