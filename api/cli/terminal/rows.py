"""Options that several commands have, and rows of plain values on standard output."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watchfloor.schema.choices import ROW_FORMATS

if TYPE_CHECKING:
    import pyarrow as pa


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], form: str | None) -> None:
    """Prints rows in a format of ``ROW_FORMATS``; None chooses the default one."""
    from watchfloor.api.cli.terminal.output import open_output
    from watchfloor.api.formats.writers import open_writer

    with open_output(None) as out:
        writer = open_writer(form or default_format(None), out, all_columns=True)
        writer.write(make_batch(rows, columns))
        writer.close()


def make_batch(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pa.RecordBatch:
    """Returns rows as a record batch; a member that a row lacks is null."""
    import pyarrow as pa

    return pa.record_batch([pa.array([row.get(name) for row in rows]) for name in columns], names=list(columns))


def default_format(output: str | None) -> str:
    """Returns ``table`` if the output goes to a terminal, otherwise ``ndjson``."""
    return "table" if output is None and sys.stdout.isatty() else "ndjson"


def add_format(parser: ArgumentParser, formats: Sequence[str] = ROW_FORMATS) -> None:
    """Adds the option ``--format``."""
    parser.add_argument(
        "--format", choices=formats, metavar="|".join(formats), help="default: table on a terminal, else ndjson"
    )


def add_range(parser: ArgumentParser) -> None:
    """Adds the options of a time range, ``--since`` and ``--until``."""
    parser.add_argument(
        "--since", metavar="TIME", help="from this time on: 2026-01-08T12:00:00Z (no zone: UTC), 2026-01-08, epoch, -4h"
    )
    parser.add_argument("--until", metavar="TIME", help="up to and without this time")
