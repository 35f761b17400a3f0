"""What a sample takes in a store is what the encoder's entries add up to, in each layout, table by table.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from watchfloor.api.cli.definitions.costs import describe_costs
from watchfloor.ingest.authoring.costs import measure_source
from watchfloor.ingest.authoring.trial import try_source
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source
from watchfloor.store.layout import TableWrite
from watchfloor.store.layouts.registry import find_layout

DOORS = parse_definition(
    {
        "name": "lab.doors",
        "parser": {"format": "delimited"},
        "timestamp": {"field": "when", "format": "iso8601"},
        "visibility": "staff",
        "fields": [
            {"name": "when", "type": "time"},
            {"name": "door", "type": "string", "indexed": True, "reversed": True},
            {"name": "client", "type": "ip", "indexed": True, "ecs": "source.ip"},
            {"name": "floors", "type": "list", "items": "int", "indexed": True},
            {"name": "text", "type": "string", "visibility": "guards"},
        ],
    }
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = [
        f"2026-03-0{1 + n % 3} 08:{n % 60:02}:01,door {n % 4},{f'192.0.2.{n % 250}' if n % 3 else ''},"
        f'"{n % 2},{n % 5},{n % 2}",{"é" * (n % 7)}'
        for n in range(900)
    ]
    path = tmp_path / "doors.csv"
    path.write_text("\n".join(["when,door,client,floors,text", *rows, "torn,line"]) + "\n", "utf-8")
    return path


def list_entries(write: TableWrite) -> Iterator[list[bytes]]:
    """Yields the texts of each entry of a write, value by value."""
    for record in write.batch.to_pylist():
        if not write.wide:
            yield [text.encode() if isinstance(text, str) else text for text in record.values()]
            continue
        for field in write.batch.schema:
            if field.metadata and record[field.name] is not None:
                named = [field.metadata.get(part, b"") for part in (b"family", b"qualifier", b"visibility")]
                yield [record["row"], *named, record[field.name]]


def count_entries(source: Source, path: Path) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Returns entries and bytes of each table, and bytes of the index and counts of each field, entry by entry."""
    encoder = find_layout(source).make_encoder(source, bytes(16), bytes(8))
    writes = [write for batch in try_source(source, path, 50_000).events for write in encoder.encode(batch)]
    entries: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    by_field: Counter[str] = Counter()
    for write in [*writes, *encoder.finish()]:
        table = write.table.split(".")[-1]
        for texts in list_entries(write):
            entries[table] += 1
            sizes[table] += sum(map(len, texts)) + 8
            for name in [f.name for f in source.indexed_fields if table in ("index", "aggregate")]:
                if texts[0][4:].startswith((f"{name}\0".encode(), f"{name}\1".encode())):
                    by_field[name] += sum(map(len, texts)) + 8
    return entries, sizes, by_field


def test_costs_are_those_of_the_entries(log: Path, layout: str) -> None:
    source = DOORS.replace_layout(layout)
    costs = measure_source(source, log)
    entries, sizes, by_field = count_entries(source, log)
    assert (costs.lines, costs.events, costs.log_bytes) == (901, 900, log.stat().st_size)
    assert {table: size.entries for table, size in costs.tables.items()} == entries
    assert {table: size.bytes for table, size in costs.tables.items()} == sizes
    assert {name: size.bytes for name, size in costs.indexed.items()} == by_field
    assert len(by_field) == 3 and {"event", "index", "aggregate"} <= set(entries)


def test_lines_about_costs_name_each_table_and_each_index_by_its_share(log: Path) -> None:
    source = DOORS.replace_layout("cell")
    said = describe_costs(source, measure_source(source, log))
    assert said[0] == f"sample: 901 lines of {log.stat().st_size / 901:.0f} bytes each, 900 events"
    assert "  event: " in said[2] and "  index: " in said[3]
    shares = [int(line.rpartition(", ")[2].split("%")[0]) for line in said if line.startswith("  index of ")]
    assert shares == sorted(shares, reverse=True) and 98 <= sum(shares) <= 102
    assert said[-1].startswith("  index of client: ")


def test_a_sample_without_events_is_measured_no_further(tmp_path: Path) -> None:
    path = tmp_path / "doors.csv"
    path.write_text("when,door,client,floors,text\ntorn,line\n")
    assert describe_costs(DOORS, measure_source(DOORS, path))[-1] == "no event, so nothing to measure"
