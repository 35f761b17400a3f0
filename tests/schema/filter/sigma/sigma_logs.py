"""SigmaHQ's rules and real logs, and the comparison of what converted rules match in them with the oracle."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from parsing_support import parse_file, shared_log, unzip_log
from sigma_samples import list_expected, list_matches

from watchfloor.schema.definition import add_fields
from watchfloor.schema.errors import RuleError
from watchfloor.schema.filter.sigma.convert import convert_rule
from watchfloor.schema.filter.sigma.log_sources import LogSource, MeantSource, find_sources
from watchfloor.schema.filter.sigma.rule_file import ParsedRule, RuleEntry, read_rules
from watchfloor.schema.filter.type_check import read_tree, type_filter
from watchfloor.schema.source import Source
from watchfloor.schema.stats.having import filter_rows

ROWS = 100
"""At most about as many events of each source, spread over all of them, are looked at for a rule."""


def read_areas(folder: Path) -> dict[str, list[RuleEntry]]:
    """Returns SigmaHQ's rules by area, after they were unpacked into a folder."""
    with zipfile.ZipFile(shared_log("sigma/rules.zip")) as archive:
        archive.extractall(folder)
    found = defaultdict(list)
    for entry in read_rules([str(folder)]):
        found[str(Path(entry.info.place).relative_to(folder / "rules")).split("/")[0]].append(entry)
    return found


def compare_rules(name: str, entries: Sequence[RuleEntry], folder: Path) -> tuple[int, int]:
    """Asserts that rules match the events of real logs that the oracle says.

    Returns how often a rule was asked, and the number of matches.
    """
    tables = read_events(name, folder)
    sources = {source.name: source for source, _ in tables.values()}
    asked_of: dict[tuple[str, str | None], tuple[pa.Table, list[dict[str, Any]]]] = {}
    asked = matched = 0
    for entry in entries:
        assert isinstance(entry, ParsedRule)
        try:
            rule = convert_rule(entry, sources)
        except RuleError:
            continue
        detection = read_detection(entry)
        for one in [one for one in rule.filters if one.source.name in tables]:
            meant = find_meant(entry, one.source)
            if (key := (one.source.name, meant.where)) not in asked_of:
                table = choose_events(tables[one.source.name][1], meant)
                asked_of[key] = (table, table.to_pylist())
            table, rows = asked_of[key]
            expected = list_expected(detection, meant, rows)
            assert list_matches(one, table) == expected, (entry.info.place, one.text)
            asked, matched = asked + 1, matched + len(expected)
    return asked, matched


def choose_events(table: pa.Table, meant: MeantSource) -> pa.Table:
    """Returns some of the events that a log source means."""
    if meant.where is not None:
        types = meant.source.scalar_types
        table = filter_rows(table, type_filter(read_tree(meant.where), meant.source), types)
    return table.take(pa.array(range(0, len(table), 1 + len(table) // ROWS), pa.int64()))


def read_events(name: str, folder: Path) -> dict[str, tuple[Source, pa.Table]]:
    """Returns the events of files by source; those of a source have the fields that its last file has."""
    found: dict[str, tuple[Source, list[pa.Table]]] = {}
    for file in sorted(shared_log("").glob(name)):
        path = unzip_log(str(file.relative_to(shared_log(""))), folder) if file.suffix == ".zip" else file
        for source, batch in parse_file(path).events:
            known = found.get(source.name, (source, []))
            found[source.name] = (add_fields(known[0], source.fields), [*known[1], pa.Table.from_batches([batch])])
    return {
        name: (source, pa.concat_tables([source.arrow_schema.empty_table(), *tables], promote_options="default"))
        for name, (source, tables) in found.items()
    }


def read_detection(entry: ParsedRule) -> dict[str, Any]:
    detection: dict[str, Any] = yaml.safe_load(Path(entry.info.place).read_text("utf-8"))["detection"]
    return detection


def find_meant(entry: ParsedRule, source: Source) -> MeantSource:
    """Returns the source as the log source of the rule means it, with the names that it has there."""
    logged = entry.rule.logsource
    (meant,) = (
        find_sources(
            LogSource(logged.product or "", logged.category or "", logged.service or ""), {source.name: source}
        )
        or []
    )
    return meant
