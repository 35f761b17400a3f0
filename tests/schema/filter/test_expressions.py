"""Conditions on expressions: what they are read as, and the errors of those that do not fit.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from typing import Any

import pytest
from filter_samples import NOW, SOURCE, source_of
from oracle import holds

from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.json_form import from_json, to_json
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import Compare, ExpressionCompare, Or
from watchfloor.schema.filter.type_check import read_filter, read_typed_filter, type_filter

READ = {
    # Fields against fields: a word that cannot be a value of the left side's type is a field.
    "bytes > status": "bytes > field(status)",
    "bytes > `status`": "bytes > field(status)",
    "bytes > field(status)": "bytes > field(status)",
    "ts > seen": "ts > field(seen)",
    "src = id.orig_h": "src = field(id.orig_h)",
    "answers = src": "answers = field(src)",
    "ok = ok": "ok = field(ok)",
    "port != status": "port != field(status)",
    "`and` = field(`and`)": "`and` = field(`and`)",
    # Strings: a word is a value, as ever.
    "uri = method": 'uri = "method"',
    "uri = `method`": "uri = field(method)",
    "uri = field(method)": "uri = field(method)",
    "lower(uri) = method": 'lower(uri) = "method"',
    "lower(uri) = lower(method)": "lower(uri) = lower(method)",
    # Arithmetic: operators bind as everywhere.
    "bytes + status * 2 >= 1000000": "bytes + (status * 2) >= 1000000",
    "(bytes + status) * 2 >= 5": "(bytes + status) * 2 >= 5",
    "bytes - status - 1 > 0": "(bytes - status) - 1 > 0",
    "bytes*2>5": "bytes * 2 > 5",
    "bytes / ratio > 50": "bytes / ratio > 50.0",
    "-bytes < -5": "-bytes < -5",
    "bytes > 100 + status * 2": "bytes > (100 + (status * 2))",
    "bytes > status - 5": "bytes > (status - 5)",
    "bytes > -(status)": "bytes > (-status)",
    "bytes > -length(uri)": "bytes > (-length(uri))",
    "seen - ts > 60": "seen - ts > 60.0",
    # A field against a number is a plain condition, which an index may answer.
    "100 < bytes": "bytes > 100",
    "bytes >= (100)": "bytes >= 100",
    "port > (70000)": "port > (70000)",
    "field(bytes) = 5": "bytes = 5",
    # Other tests of functions' results.
    "LENGTH(uri) in 3..40": "length(uri) in 3..40",
    "length(tags) = 0": "length(tags) = 0",
    "lower(uri) in (a, b)": 'lower(uri) in ("a", "b")',
    "lower(uri) not in (a, b)": 'not lower(uri) in ("a", "b")',
    "lower(uri) startswith a": 'lower(uri) startswith "a"',
    "lower(uri) contains a": 'lower(uri) like "*a*"',
    "lower(uri) = a*": 'lower(uri) like "a*"',
    "lower(uri) != a*": 'not lower(uri) like "a*"',
    "registered_domain(uri) like *.uk": 'registered_domain(uri) like "*.uk"',
    "registered_domain(uri) ~ /^a/i": "registered_domain(uri) ~ /^a/i",
    "exists registered_domain(uri)": "exists registered_domain(uri)",
    "hour(ts) < 6 or weekday(ts) = 7": "hour(ts) < 6 or weekday(ts) = 7",
    "entropy(registered_domain(lower(uri))) >= 3.5": "entropy(registered_domain(lower(uri))) >= 3.5",
    # All fields of strings.
    "any contains x": " or ".join(
        f'{name} like "*x*"' for name in ("uri", "method", "tags", "@version", "user-agent", "`and`")
    ),
}
ERRORS: list[tuple[str, int, str]] = [
    ("bytes > statu", 8, "'statu' is not a whole number; did you mean the field status?"),
    ("bytes > 2*status", 8, "'2*status' is not a whole number; operators stand between spaces, as in a + b"),
    ("bytes > 2/x + 1", 8, "'2/x' is neither a number nor a field's name; operators stand between spaces"),
    ("bytes-status > 5", 0, "no field 'bytes-status'; did you mean status, bytes?"),
    ("uri + 1 > 5", 4, "+ takes numbers, and uri is a string"),
    ("ts + 5 > seen", 3, "+ takes numbers, and ts is a time; the difference of two times is in seconds"),
    ("ts > bytes", 0, "ts is a time, and bytes is an int; they cannot be compared; the difference of two times"),
    ("lower(bytes) = x", 0, "lower takes strings, and bytes is an int"),
    ("hour(uri) < 6", 0, "hour takes times, and uri is a string"),
    ("length(bytes) < 6", 0, "length takes strings and lists, and bytes is an int"),
    ("-uri = x", 0, "a string has no sign"),
    ("src = bytes", 0, "src is an ip, and bytes is an int; they cannot be compared"),
    ("ok < ok", 0, "a bool has no order, so < does not fit"),
    ("1 = 2", 0, "a condition needs a field"),
    ("1 = (2)", 0, "a comparison needs a field on one side"),
    ("foo(uri) = 1", 0, "unknown function 'foo'; known are entropy, field, hour, length, lower"),
    ("lenth(uri) = 1", 0, "did you mean length"),
    ("length(uri) > 1.5", 14, "length(uri) is an int: '1.5' is not a whole number"),
    ("length(uri) ~ /a/", 14, "length(uri) is an int: a pattern fits strings only"),
    ("lower(uri) in 10.0.0.0/8", 14, "a network fits addresses only"),
    ("field(3) = 2", 6, "field takes the name of a field"),
    ("length(nosuch) > 5", 7, "no field 'nosuch'"),
    ("bytes > nosuch + 1", 8, "no field 'nosuch'"),
    ('lower("ABC") = uri', 6, "no field 'ABC'"),
    ("any = lower(uri)", 0, "any stands for 6 fields of test.events: uri, method, tags"),
    ("lower(tags) = `uri` and tags = field(tags) and length(tags) + bytes > 1 and lower(tags) > 1 + length(any)", 101,
     "any stands for 6 fields"),
    ("bytes > 99999999999999999999 + status", 8, "a whole number has at most 64 bits"),
    ("bytes > 1e999 + status", 8, "'1e999' is too large for a float"),
    ("+".join(["bytes"] * 70) + " > 5", 383, "nested deeper than 64 levels"),
    ("length(" * 70 + "uri" + ")" * 70 + " > 5", 42, "nested deeper than 64 levels"),
    ("bytes > 5 +", 11, "expected a field"),
    ("bytes + > 5", 8, "expected a field"),
    ("lower(uri", 9, "expected a closing parenthesis"),
    ("lower() = x", 6, "expected a field"),
]  # fmt: skip
LISTS = source_of(numbers="list of int", others="list of int")
FORMS: list[tuple[Any, str]] = [
    ({"left": {"function": "length", "of": {"field": "uri"}}, "op": ">", "value": 4}, "length(uri) > 4"),
    ({"left": {"field": "bytes"}, "op": ">", "right": {"field": "status"}}, "bytes > field(status)"),
    ({"left": {"field": "bytes"}, "op": "in", "values": [1, 2]}, "bytes in (1, 2)"),
    ({"left": {"op": "+", "of": [{"field": "bytes"}, 5]}, "op": "in", "from": 1, "to": 2}, "bytes + 5 in 1..2"),
    ({"left": {"op": "-", "of": [{"field": "bytes"}]}, "op": "exists"}, "exists (-bytes)"),
    ({"field": "bytes", "op": ">", "value": "status"}, "bytes > field(status)"),
]
BAD_FORMS: list[tuple[Any, str]] = [
    ({"left": "uri", "op": "=", "value": 1}, "filter.left: an object or a number was expected, found a string"),
    ({"left": True, "op": "=", "value": 1}, "filter.left: an object or a number was expected, found a truth value"),
    ({"left": {"field": 1}, "op": "=", "value": 1}, "filter.left.field: the name of a field was expected"),
    ({"left": {"function": "foo", "of": 1}, "op": "="}, "filter.left.function: unknown function 'foo'"),
    ({"left": {"function": 1, "of": 1}, "op": "="}, "filter.left.function: the name of a function was expected"),
    ({"left": {"function": "length"}, "op": "="}, "filter.left.of: an object or a number was expected, found nothing"),
    ({"left": {"op": "%", "of": [1, 2]}, "op": "="}, "filter.left.op: one of + - * / was expected, found '%'"),
    ({"left": {"op": "+", "of": [1]}, "op": "="}, "filter.left.of: a list of two expressions was expected"),
    ({"left": {"op": "-", "of": []}, "op": "="}, "filter.left.of: a list of one or two expressions was expected"),
    (
        {"left": {"op": "+", "of": [1, []]}, "op": "="},
        "filter.left.of[1]: an object or a number was expected, found a li",
    ),
    ({"left": float("inf"), "op": "=", "right": {"field": "a"}}, "filter.left: a finite number was expected"),
    ({"left": 1, "op": "like", "right": 2}, "filter.op: one of = != < <= > >= was expected, found 'like'"),
    ({"left": 1, "op": "=", "right": 2, "value": 3}, "filter: 'value' does not belong beside left, op, right"),
    ({"left": 1, "field": "a", "op": "=", "value": 3}, "filter: 'field' does not belong beside left, op, value"),
]


@pytest.mark.parametrize(("text", "read"), READ.items())
def test_texts_are_read_as_their_normal_forms(text: str, read: str) -> None:
    tree = read_filter(text, SOURCE, NOW)
    assert tree is not None and to_text(tree) == read
    assert read_filter(read, SOURCE, NOW) == read_filter(to_json(tree), SOURCE, NOW) == tree
    assert type_filter(tree, SOURCE, now=NOW) == tree


@pytest.mark.parametrize(("text", "position", "message"), ERRORS)
def test_errors_show_the_place(text: str, position: int, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        read_filter(text, SOURCE, NOW)
    assert message in caught.value.message
    assert (caught.value.position, caught.value.text) == (position, text)


@pytest.mark.parametrize(("form", "text"), FORMS)
def test_json_forms(form: Any, text: str) -> None:
    assert read_filter(form, SOURCE) == read_filter(text, SOURCE)


@pytest.mark.parametrize(("form", "message"), BAD_FORMS)
def test_bad_json_forms(form: Any, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        from_json(form)
    assert caught.value.message.startswith(message)


def test_errors_without_a_text_show_the_expression() -> None:
    form = {"left": {"op": "+", "of": [{"field": "uri"}, 1]}, "op": ">", "value": 1}
    with pytest.raises(FilterError, match=r"uri is a string \(in: uri \+ 1\)"):
        read_filter(form, SOURCE)
    with pytest.raises(FilterError, match=r"length\(uri\) is an int: 'x' is not a whole number"):
        read_filter({"left": {"function": "length", "of": {"field": "uri"}}, "op": ">", "value": "x"}, SOURCE)


def test_a_side_takes_the_elements_of_one_list() -> None:
    for text in ("numbers + numbers > 5", "numbers * others = 1", "1 < others - numbers"):
        with pytest.raises(FilterError, match="a side of a comparison takes the elements of one list, not of"):
            read_filter(text, LISTS)
    event = {"numbers": [1, 2, None], "others": [3, 4]}
    for text, expected in {
        "numbers = others": False,
        "numbers + 2 = others": True,
        "numbers < others": True,
        "numbers > others": False,
        "numbers * length(others) = 4": True,
        "length(numbers) + length(others) = 5": True,
    }.items():
        tree = read_filter(text, LISTS)
        assert tree is not None and holds(tree, event) is expected, text


def test_a_field_named_any_wins() -> None:
    source = source_of(any="string", other="string")
    assert read_filter("any = x", source) == Compare("any", "=", "x")
    assert read_filter("other = any", source) == Compare("other", "=", "any")
    typed = read_typed_filter("any = x", source_of(one="string", other="list of string", number="int"))
    assert typed is not None and typed.tree == Or((Compare("one", "=", "x"), Compare("other", "=", "x")))
    assert typed.meanings == {"any": ("one", "other")}
    with pytest.raises(FilterError, match="has no field of strings, for which any stands"):
        read_filter("any = x", source_of(number="int"))


def test_any_has_no_more_patterns_than_it_is_written_with() -> None:
    many = source_of(**{f"f{n}": "string" for n in range(300)})
    pattern = "x" * 900
    assert read_filter(f"any ~ /{pattern}/ or any contains {pattern}", many)


def test_a_field_of_a_later_definition_changes_no_filter_that_was_valid() -> None:
    before, after = (
        source_of(number="int", text="string"),
        source_of(number="int", text="string", root="string", n="int"),
    )
    for text in ("text = root", "text > n", "number > 5", "lower(text) = root"):
        assert read_filter(text, before) == read_filter(text, after)
    with pytest.raises(FilterError):
        read_filter("number > n", before)
    assert isinstance(read_filter("number > n", after), ExpressionCompare)
