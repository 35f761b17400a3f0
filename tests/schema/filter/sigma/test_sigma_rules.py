"""SigmaHQ's rules become filters, and these match the same real events as the rules do by the oracle.

In `make test`: it needs no servers; it skips where the real logs are absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from sigma_logs import compare_rules, read_areas

from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import RuleError
from watchfloor.schema.filter.sigma.convert import ConvertedRule, convert_rule
from watchfloor.schema.filter.sigma.rule_file import ParsedRule, RuleEntry
from watchfloor.schema.source import Source

AREAS = ("linux", "network", "web", "windows")
"""The folders of SigmaHQ's rules that are to be converted; those of proxies, DNS and Zeek are in them."""
LEAST_SHARE = 0.95


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[RuleEntry]]:
    return read_areas(tmp_path_factory.mktemp("sigma"))


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
def test_converted_rules_match_the_events_that_the_rules_do(
    name: str, entries: dict[str, list[RuleEntry]], tmp_path: Path
) -> None:
    areas = dict.fromkeys((LOGS[name], "network", "web"))
    asked, _ = compare_rules(name, [entry for area in areas for entry in entries[area]], tmp_path)
    assert asked > 5
