"""The suite's table: its name, its range of rows, and how it is made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.workloads.client_process import run_client

_NAME = re.compile("[A-Za-z0-9_]+")
DEFAULT_TABLE = "bench_continuous"
END_ROW = (1 << 63) - 1
COLUMNS = (1 << 15) - 1
"""Families and qualifiers are numbers below this one by default."""


@dataclass(frozen=True)
class TableRows:
    """A table and the range of its rows, [first, end). All clients of the suite are told it."""

    name: str = DEFAULT_TABLE
    first: int = 0
    end: int = END_ROW

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UserError(
                f"--table {self.name!r}: a table of this suite is named by letters, digits and _, without a namespace, "
                "so that it is none of the pipeline's"
            )
        if not 0 <= self.first < self.end <= END_ROW:
            raise UserError(f"rows go from {self.first} up to {self.end}: give a range within 0 and {END_ROW}")

    def to_options(self) -> dict[str, Any]:
        return {"table": self.name, "first_row": self.first, "end_row": self.end}


@dataclass(frozen=True)
class TableLayout:
    """The form of a new table: ``tablets`` at the beginning, and properties of Accumulo, ``NAME=VALUE``.

    ``authorizations`` are given to the user of the clients, as sets ``A,B``. ``again`` replaces a table of this name.
    """

    tablets: int = 20
    properties: tuple[str, ...] = ()
    authorizations: tuple[str, ...] = ()
    again: bool = False


def create_table(settings: Settings, rows: TableRows, layout: TableLayout) -> int:
    """Makes the table and returns the number of its tablets.

    Raises ``UserError`` for options that do not fit, and ``StoreError`` if the table exists or is refused.
    """
    if layout.tablets < 1:
        raise UserError(f"--tablets is {layout.tablets}; a table has 1 or more")
    for one in layout.properties:
        if "=" not in one:
            raise UserError(f"--property {one!r} has no value; write NAME=VALUE, as table.split.threshold=1G")
    options = {
        **rows.to_options(),
        "tablets": layout.tablets,
        "properties": list(layout.properties),
        "authorizations": list(layout.authorizations),
        "again": layout.again,
    }
    (record,) = run_client(settings, "continuous.CreateTable", options)
    return int(record["tablets"])
