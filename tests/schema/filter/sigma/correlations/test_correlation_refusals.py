"""Correlations that cannot be run are refused with the construct and the reason; no document ends in another error.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.sigma.correlations.model import Correlation
from watchfloor.schema.filter.sigma.correlations.rule_set import RuleSet, convert_rules
from watchfloor.schema.filter.sigma.rule_file import parse_rules

SOURCE = parse_definition(
    {
        "name": "zeek.made",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "user", "type": "string"},
            {"name": "answers", "type": "list", "items": "string"},
        ],
    }
)
ID = "6f1c2b9e-9a55-4a7e-8a53-c2a7e8b7d0c1"
RULE: dict[str, Any] = {
    "title": "A rule",
    "name": "one",
    "id": ID,
    "logsource": {"product": "zeek", "service": "made"},
    "detection": {"sel": {"user": "a"}, "condition": "sel"},
}
COUNT: dict[str, Any] = {"type": "event_count", "rules": ["one"], "timespan": "5m", "condition": {"gte": 3}}
LOST = {**RULE, "title": "Lost", "name": "lost", "id": "x", "logsource": {"product": "toaster"}}
TEMPORAL = {**COUNT, "type": "temporal"}
ORDERED = {key: value for key, value in COUNT.items() if key != "condition"} | {"type": "temporal_ordered"}


def read(*documents: Mapping[str, Any]) -> RuleSet:
    text = "\n---\n".join(json.dumps(document) for document in documents)
    return convert_rules(parse_rules(text.encode(), "rules.yml"), {SOURCE.name: SOURCE})


def correlate(correlation: Any, title: str = "It", **more: Any) -> dict[str, Any]:
    return {"title": title, "correlation": correlation, **more}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in COUNT.items() if key != name}


REFUSED: list[tuple[Any, str]] = [
    ({**COUNT, "rules": ["nobody"]}, "rules: no rule has the name or the ID nobody"),
    ({**COUNT, "rules": ["lost"]}, "rules: lost cannot be run: log source: no source is known for product toaster"),
    ({**COUNT, "rules": []}, "rules: it names no rule"),
    (without("rules"), "without rule references"),
    ({**COUNT, "rules": {"a": 1}}, "must be plain string or list"),
    (without("timespan"), "without timespan"),
    ({**COUNT, "timespan": "five minutes"}, "Timespan 'five minutes' is invalid"),
    ({**COUNT, "timespan": "0s"}, "must be greater than zero"),
    ({**COUNT, "timespan": 300}, "Timespan '300' is invalid"),
    ({**COUNT, "timespan": "2y"}, "timespan: 2y is longer than a year"),
    ({**COUNT, "type": "astral"}, "'astral' is no valid"),
    (without("type"), "without type"),
    ({**COUNT, "type": "value_avg", "condition": {"gt": 1, "field": "user"}}, "type: value_avg has no counterpart"),
    (without("condition"), "without condition"),
    ({**COUNT, "condition": {"gte": 3, "lt": 9}}, "exactly one condition item"),
    ({**COUNT, "condition": {"gte": "many"}}, "'many' is no valid"),
    ({**COUNT, "condition": {"gte": 3, "field": "user"}}, "condition: event_count counts no values"),
    ({**COUNT, "condition": "one and one"}, "[Ee]xtended conditions"),
    ({**COUNT, "type": "value_count"}, "without field reference"),
    ({**COUNT, "type": "value_count", "condition": {"gte": 3, "field": "absent"}}, "condition: it has no field absent"),
    ({**COUNT, "group-by": ["absent"]}, "no source of one can be correlated: zeek.made: group-by: it has no field abs"),
    ({**COUNT, "group-by": ["answers"]}, "group-by: answers is a list"),
    ({**COUNT, "group-by": {"a": 1}}, "must be string or list"),
    ({**COUNT, "group-by": ["who"], "aliases": {"who": {"nobody": "user"}}}, "no rule has the name or the ID nobody"),
    ({**COUNT, "group-by": ["who"], "aliases": {"who": {"two": "user"}}}, "aliases: who names two, which is not in ru"),
    ({**COUNT, "group-by": ["who"], "aliases": {"who": {}}}, "aliases: who names no field of the rule one"),
    ({**COUNT, "aliases": {"who": "user"}}, "."),
    ({**COUNT, "generate": "maybe"}, "must be a boolean"),
    ({**ORDERED, "rules": ["one", "two", ID]}, f"temporal_ordered names {ID} twice"),
    ({**ORDERED, "rules": ["one", "two"], "condition": {"gte": 1}}, "waits for all of its 2 rules; >= 1 has no count"),
    ({**ORDERED, "rules": ["one", "two"], "condition": "one and two"}, "temporal_ordered with and, or, not"),
    ({**TEMPORAL, "rules": ["one"], "condition": "one and"}, "[Ff]ailed to parse"),
    ({**TEMPORAL, "rules": ["one"], "condition": "one and two"}, "not defined in rules list: two"),
    ([], "."),
    ("text", "."),
]


@pytest.mark.parametrize(("correlation", "reason"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_a_construct_that_has_no_counterpart_is_named(correlation: Any, reason: str) -> None:
    two = {**RULE, "title": "Two", "name": "two", "id": "two"}
    rules = read(RULE, two, LOST, correlate(correlation))
    ((info, told),) = [(info, told) for info, told in rules.failed if info.title == "It"]
    assert info.place == "rules.yml (4)"
    assert re.search(reason, told), told
    assert len(rules.rules) == 2


def test_rules_are_found_by_name_and_by_id_and_the_sources_without_a_field_are_left_out() -> None:
    for reference in ("one", ID):
        (found,) = read(correlate({**COUNT, "rules": [reference], "group-by": "user"}), RULE).correlations
        assert (found.kind, found.span, found.groups) == ("event_count", 300_000_000, ("user",))
        assert found.list_sources() == ["zeek.made"]


def test_faults_of_the_description_leave_a_correlation_as_it_is() -> None:
    (found,) = read(RULE, correlate(COUNT, id="no uuid", date="yesterday", level="grave")).correlations
    assert (found.info.id, found.info.level) == ("no uuid", "grave")


def test_two_rules_of_one_name_are_refused_and_copies_are_not() -> None:
    other = {**RULE, "title": "Other", "id": "other"}
    (failed,) = read(RULE, other, correlate(COUNT)).failed
    assert "one is the name or the ID of two rules, in rules.yml (1) and rules.yml (2)" in failed[1]
    assert len(read(RULE, RULE, correlate(COUNT)).correlations) == 1


def test_correlations_that_name_each_other_are_refused() -> None:
    circle = [correlate({**COUNT, "rules": [other]}, name, name=name) for name, other in (("a", "b"), ("b", "a"))]
    reasons = {info.title: reason for info, reason in read(*circle).failed}
    assert "leads back to this correlation" in reasons["a"] and "leads back" in reasons["b"]
    chain = [correlate({**COUNT, "rules": [f"c{n + 1}"]}, f"c{n}", name=f"c{n}") for n in range(400)]
    rules = read(*chain, {**RULE, "name": "c400"})
    assert "more than 16 correlations stand in each other" in rules.failed[0][1]
    assert len(rules.outcomes) == 401


def test_a_correlation_is_grouped_by_what_its_correlation_is_grouped_by() -> None:
    inner = correlate(COUNT, "Inner", name="inner")
    (failed,) = read(RULE, inner, correlate({**TEMPORAL, "rules": ["inner"], "group-by": ["user"]})).failed
    assert "Inner is a correlation that is not grouped by user" in failed[1] or "inner is a correlation" in failed[1]


KEYS = ("type", "rules", "group-by", "timespan", "condition", "aliases", "generate", "gte", "field", "percentile")
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["one", "5m", "user", "temporal"])


def draw_nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), st.recursive(SCALARS, draw_nested, max_leaves=8)))
def test_no_correlation_is_a_surprise(changes: dict[str, Any]) -> None:
    text = f"{yaml.safe_dump(RULE)}\n---\n{yaml.safe_dump(correlate({**COUNT, **changes}))}"
    rules = convert_rules(parse_rules(text.encode(), "drawn.yml"), {SOURCE.name: SOURCE})
    (_, found) = rules.outcomes[-1]
    assert isinstance(found, Correlation) or found
