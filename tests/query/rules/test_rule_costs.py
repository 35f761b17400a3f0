"""The expected cost of rules grows with events and rules, and names patterns and compared fields as what is slow.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from watchfloor.query.rules.costs import COMPUTED_SECONDS, PATTERN_SECONDS, estimate_rule, estimate_rules
from watchfloor.query.rules.evaluate import RuleProgram
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.filter.sigma.convert import convert_rule
from watchfloor.schema.filter.sigma.rule_file import ParsedRule, parse_rules
from watchfloor.schema.filter.tree import Filter

SOURCE = builtin_definitions()["windows.sysmon"]
TYPES = SOURCE.scalar_types
EVENTS = 10_000_000


def read_filter(detection: str) -> Filter | None:
    """Returns the filter of a rule for events of Sysmon of any number."""
    log_source = "logsource: {product: windows, service: sysmon}"
    text = f"{{title: a rule, {log_source}, detection: {{{detection}, condition: a}}}}"
    (rule,) = parse_rules(text.encode(), "a rule")
    assert isinstance(rule, ParsedRule)
    return convert_rule(rule, {SOURCE.name: SOURCE}).filters[0].tree


def estimate(*filters: Filter | None) -> list[float]:
    rules = RuleProgram(filters, TYPES)
    return [estimate_rule(rules, number) * EVENTS for number in range(len(filters))]


def test_texts_cost_little_patterns_more_and_compared_fields_most() -> None:
    texts = read_filter("a: {CommandLine|contains: [mimi, lsa], 'Image|endswith': '\\cmd.exe'}")
    pattern = read_filter("a: {CommandLine|re: 'mimi[a-z]+'}")
    narrowed = read_filter("a: {CommandLine|re: 'mimi[a-z]+', 'Image|endswith': '\\cmd.exe'}")
    compared = read_filter("a: {Image|fieldref: ParentImage}")
    cheap, slow, less, most = estimate(texts, pattern, narrowed, compared)
    assert cheap < 0.1 and less < slow < most
    assert slow == PATTERN_SECONDS * EVENTS and most == COMPUTED_SECONDS * EVENTS
    assert estimate(None) == [0.0]


def test_rules_of_one_field_add_little_and_what_they_share_counts_once() -> None:
    filters = [read_filter(f"a: {{CommandLine|contains: word{number}}}") for number in range(1_000)]
    one, all_, twice = (estimate_rules(RuleProgram(some, TYPES)) for some in (filters[:1], filters, filters * 2))
    assert one < all_ < 2 * one
    assert twice == all_
    patterns = [read_filter(f"a: {{CommandLine|re: 'word{number}[a-z]'}}") for number in range(1_000)]
    assert estimate_rules(RuleProgram(patterns, TYPES)) > 50 * all_
