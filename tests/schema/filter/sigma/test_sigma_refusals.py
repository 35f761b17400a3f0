"""What cannot be read or converted is said of each rule: which construct, and why; nothing else is affected.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from sigma_samples import convert, make_rule, make_source

from watchfloor.schema.errors import RuleError
from watchfloor.schema.filter.sigma.convert import convert_rule
from watchfloor.schema.filter.sigma.rule_file import (
    MAX_BYTES,
    ParsedCorrelation,
    ParsedRule,
    UnreadRule,
    parse_rules,
    read_rules,
)

SOURCE = make_source(text="string", number="int", ip="ip", ok="bool", when="time")
RULE = yaml.safe_dump(make_rule(sel={"text": "a"}))
UNREADABLE = {
    "": "no rule is in it",
    "# nothing": "no rule is in it",
    "a: [": "no YAML: .*line 2",
    "a: b: c": "no YAML: mapping values are not allowed",
    "\x00": "no YAML: .*control characters are not allowed",
    "just a text": "a rule is a map of keys",
    "- 1": "a rule is a map of keys",
    "title: x": "must have a log source",
    "title: x\nlogsource: {}\ndetection: {}": "log source can't be empty",
    "title: x\nlogsource: [1]\ndetection: 3": "map|form",
    "title: x\nlogsource: {product: zeek}\ndetection: {a: {b: c}}": "at least one condition",
    "title: x\nlogsource: {product: zeek}\ndetection: {condition: a}": "No detections",
    "title: x\nlogsource: {product: zeek}\ndetection: {a: {'b|upside': c}, condition: a}": "Unknown modifier.*upside",
    "title: x\nlogsource: {product: zeek}\ndetection: {a: {'b|re': '(?=x)'}, condition: a}": "invalid",
    "title: x\nlogsource: {product: zeek}\ndetection: {a: {'b|re': '('}, condition: a}": r"invalid: missing \)",
    "title: x\nlogsource: {product: zeek}\ndetection: {a: {'b|cidr': '10.0.0.0/99'}, condition: a}": "CIDR",
    "title: x\nlogsource: {product: zeek}\ndetection: {a: {'b|gt': many}, condition: a}": "incompatible",
    "action: global\ntitle: x": "no rule is in it",
    "action: sing\ntitle: x": "Unknown Sigma collection action",
}


@pytest.mark.parametrize("text", UNREADABLE)
def test_an_unreadable_rule_says_why(text: str) -> None:
    (entry,) = parse_rules(text.encode(), "rule.yml")
    assert isinstance(entry, UnreadRule), entry
    assert re.search(UNREADABLE[text], entry.reason), entry.reason


UNCONVERTIBLE: list[tuple[dict[str, Any], str]] = [
    (make_rule(sel={"text|expand": "%admins%"}), "placeholder %admins%"),
    (make_rule(sel={"number|contains": "1"}), "number is of the type int"),
    (make_rule(sel={"number|re": "1"}), "number is of the type int; patterns"),
    (make_rule(sel={"number|cidr": "10.0.0.0/8"}), "lies in no network"),
    (make_rule(sel={"text|gt": 5}), "fit numbers only"),
    (make_rule(sel={"ip|contains": "10"}), "ip is an address"),
    (make_rule(sel={"when": "2020"}), "when is a time"),
    (make_rule(sel={"when|week": 3}), "the modifier week"),
    (make_rule(sel={"text|fieldref": "number"}), "of the type string and number of the type int"),
    (make_rule(sel={"text|fieldref|contains": "text"}), "fieldref with startswith"),
    (make_rule(sel={"text|re": "(ab){900}"}), "cannot run: the pattern has"),
    (make_rule(sel={"text|contains": "a" * 1_001}), "at most 1,000"),
    (make_rule(sel={"text|contains": [f"w{n}" for n in range(2_000)]}), "at most 4,096"),
    (make_rule("sel and nothing", sel={"text": "a"}), "'nothing' not defined"),
    (make_rule("1 of other*", sel={"text": "a"}), "other"),
    (make_rule("sel and", sel={"text": "a"}), "condition: Expected"),
    (make_rule("sel | count() > 5", sel={"text": "a"}), "pipe syntax"),
    (make_rule(sel={"absent": "a"}), "no event can match: it has no field absent"),
    (make_rule("not sel", sel={"absent": "a"}), "every event would match: it has no field absent"),
    (make_rule(sel={"text": "a"}, service="unheard"), "is zeek.unheard, of which there is none"),
    ({**make_rule(sel={"text": "a"}), "logsource": {"product": "toaster"}}, "no source is known for product toaster"),
]


@pytest.mark.parametrize(("rule", "reason"), UNCONVERTIBLE, ids=[reason for _, reason in UNCONVERTIBLE])
def test_a_construct_without_a_counterpart_is_named(rule: dict[str, Any], reason: str) -> None:
    with pytest.raises(RuleError, match=reason):
        convert(rule, SOURCE)


def test_a_missing_field_is_one_without_values() -> None:
    (one,) = convert(make_rule(sel=[{"text": "a"}, {"absent": "b"}]), SOURCE).filters
    assert one.text == 'lower(text) = "a"'
    assert one.notes == ("it has no field absent: a condition on it never holds",)


def test_a_field_that_the_definition_lacks_is_looked_for_in_extra() -> None:
    source = make_source(unknown_fields="extra", extra="string")
    (one,) = convert(make_rule(sel={"Absent|contains": 'x\\"'}), source).filters
    assert "extra ~" in one.text
    assert one.notes == ("Absent is no field of its definition; it is looked for in extra",)


def test_bombs_of_aliases_are_refused() -> None:
    levels = [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 12)]
    text = "\n".join(
        ["x0: &x0 [a]", *levels, "title: x", "logsource: {product: zeek}", "detection: {a: *x11, condition: a}"]
    )
    (entry,) = parse_rules(text.encode(), "bomb.yml")
    assert isinstance(entry, UnreadRule)
    assert "aliases" in entry.reason


def test_files_of_other_sizes_and_encodings(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.yml", tmp_path / "binary.yml"
    large.write_bytes(b"# " + b"x" * MAX_BYTES + b"\n" + RULE.encode())
    binary.write_bytes(bytes(range(256)))
    reasons = [entry.reason for entry in read_rules([str(tmp_path)]) if isinstance(entry, UnreadRule)]
    assert ["no YAML" in reasons[0], "larger than 1,000,000 bytes" in reasons[1]] == [True, True]
    deep = parse_rules(b"[" * 50_000, "deep.yml")
    assert isinstance(next(deep), UnreadRule)


def test_several_rules_of_a_file_stand_for_themselves(tmp_path: Path) -> None:
    shared = "action: global\nlogsource: {product: zeek, service: made}\n"
    first = "title: one\ndetection: {a: {text: b}, condition: a}\n"
    counted = "{type: event_count, rules: [one], group-by: [text], timespan: 1m, condition: {gte: 3}}"
    correlation = f"title: three\ncorrelation: {counted}\n"
    (tmp_path / "rules.yaml").write_text(
        "---\n".join([shared, first, "title: two\ndetection: 5\n", correlation, first])
    )
    entries = list(read_rules([str(tmp_path)]))
    assert [type(entry) for entry in entries] == [ParsedRule, UnreadRule, ParsedCorrelation, ParsedRule]
    assert [entry.info.place.rpartition("/")[2] for entry in entries] == [
        "rules.yaml (2)", "rules.yaml (3)", "rules.yaml (4)", "rules.yaml (5)"
    ]  # fmt: skip


def test_names_that_lead_to_no_rule(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no Sigma rule is in this folder"):
        list(read_rules([str(tmp_path)]))
    with pytest.raises(RuleError, match=r"nothing\.yml: cannot be read: No such file"):
        list(read_rules([str(tmp_path / "nothing.yml")]))


KEYS = ("title", "logsource", "detection", "condition", "a", "text|re", "product", "tags", "correlation", "action")
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


def draw_nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(KEYS) | st.text(max_size=3)
    return st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.recursive(SCALARS, draw_nested, max_leaves=12))
def test_no_document_is_a_surprise(document: Any) -> None:
    for entry in parse_rules(yaml.safe_dump(document).encode(), "drawn.yml"):
        if isinstance(entry, ParsedRule):
            with suppress(RuleError):
                convert_rule(entry, {SOURCE.name: SOURCE})
        else:
            assert isinstance(entry, ParsedCorrelation) or entry.reason
