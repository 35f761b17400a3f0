"""SigmaHQ's rules become filters, and these match the same real events as the rules do by the oracle.

In `make test`: it needs no servers; it skips where the real logs are absent.
"""

from __future__ import annotations

import zipfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from parsing_support import parse_file, shared_log
from sigma_samples import list_expected, list_matches

from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import RuleError
from watchfloor.schema.filter.sigma.convert import ConvertedRule, convert_rule
from watchfloor.schema.filter.sigma.log_sources import LogSource, find_sources
from watchfloor.schema.filter.sigma.rule_file import ParsedRule, RuleEntry, read_rules
from watchfloor.schema.source import Source

AREAS = ("network", "web", "windows")
"""The folders of SigmaHQ's rules that are to be converted; those of proxies, DNS and Zeek are in them."""
LEAST_SHARE = 0.95
ROWS = 1_500
"""The number of events of each source that rules are asked about."""


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[RuleEntry]]:
    """The rules by area."""
    folder = tmp_path_factory.mktemp("sigma")
    with zipfile.ZipFile(shared_log("sigma/rules.zip")) as archive:
        archive.extractall(folder)
    found = defaultdict(list)
    for entry in read_rules([str(folder)]):
        found[str(Path(entry.info.place).relative_to(folder / "rules")).split("/")[0]].append(entry)
    return found


def convert_all(entries: list[RuleEntry], known: Mapping[str, Source]) -> tuple[list[ConvertedRule], Counter[str]]:
    """Returns the rules that are converted, and the reasons for the others with their numbers."""
    rules: list[ConvertedRule] = []
    reasons: Counter[str] = Counter()
    for entry in entries:
        if not isinstance(entry, ParsedRule):
            reasons[f"{entry.info.place}: not read"] += 1
            continue
        try:
            rules.append(convert_rule(entry, known))
        except RuleError as error:
            reasons[str(error)] += 1
    return rules, reasons


@pytest.mark.parametrize("area", AREAS)
def test_nearly_all_rules_are_converted(area: str, entries: dict[str, list[RuleEntry]]) -> None:
    rules, reasons = convert_all(entries[area], builtin_definitions())
    assert entries[area]
    assert len(rules) / len(entries[area]) >= LEAST_SHARE, reasons.most_common(20)


LOGS = {
    "web_access/elastic_apache_logs": "web",
    "squid/*": "web",
    "bluecoat/*.log": "web",
    "zeek/brobeat/*.log": "network",
    "suricata/*/*.json": "network",
    "auth/auth.log": "linux",
}
"""Real logs, and the area of rules that are asked about them."""


@pytest.mark.parametrize("name", LOGS)
def test_converted_rules_match_the_events_that_the_rules_do(name: str, entries: dict[str, list[RuleEntry]]) -> None:
    tables: dict[str, list[pa.Table]] = defaultdict(list)
    sources: dict[str, Source] = {}
    for file in sorted(shared_log("").glob(name)):
        for source, batch in parse_file(file).events:
            sources[source.name] = source
            tables[source.name].append(pa.Table.from_batches([batch]))
    asked = matched = 0
    for entry in [entry for area in dict.fromkeys((LOGS[name], "network", "web")) for entry in entries[area]]:
        assert isinstance(entry, ParsedRule)
        try:
            rule = convert_rule(entry, sources)
        except RuleError:
            continue
        for one in rule.filters:
            table = pa.concat_tables(tables[one.source.name], promote_options="default").slice(0, ROWS)
            expected = list_expected(read_detection(entry), find_meant(entry, one.source), table.to_pylist())
            assert list_matches(one, table) == expected, (entry.info.place, one.text)
            asked, matched = asked + 1, matched + len(expected)
    assert asked > 5, sorted(sources)


def read_detection(entry: ParsedRule) -> dict[str, Any]:
    detection: dict[str, Any] = yaml.safe_load(Path(entry.info.place).read_text("utf-8"))["detection"]
    return detection


def find_meant(entry: ParsedRule, source: Source) -> Any:
    """Returns the source as the log source of the rule means it, with the names that it has there."""
    logged = entry.rule.logsource
    (meant,) = (
        find_sources(
            LogSource(logged.product or "", logged.category or "", logged.service or ""), {source.name: source}
        )
        or []
    )
    return meant
