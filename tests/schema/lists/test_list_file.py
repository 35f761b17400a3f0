"""Values of named lists are read from plain text and CSV; every bad line is named with its number.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.schema.choices import LIST_KINDS, LIST_TYPES
from watchfloor.schema.errors import UserError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.value_list import MAX_LIST_VALUES
from watchfloor.schema.lists.list_file import ListFormat, ListValues, read_list

PLAIN = ListFormat()


def read(text: str, form: ListFormat = PLAIN) -> ListValues:
    return read_list(text.encode(), form)


def test_a_plain_file_has_a_value_a_line() -> None:
    found = read("# bad ones\n10.0.0.1 # C2\n\n  2001:DB8::1\t# tab\n10.0.0.1\r\n192.168.0.9/16 # a site\n1.2.3.0/24\n")
    assert (found.type, found.scalar) == ("ip", FieldType.IP)
    assert found.values.to_pylist() == ["10.0.0.1", "2001:db8::1"]
    assert found.networks == (ip_network("192.168.0.0/16"), ip_network("1.2.3.0/24"))
    assert found.comments == {"10.0.0.1": "C2", "2001:db8::1": "tab", "192.168.0.0/16": "a site"}
    assert (found.count, found.skipped) == (4, 0)


@pytest.mark.parametrize(
    ("text", "form", "values"),
    [
        ("a\nb c\n#\n#x\na#b\n", PLAIN, ["a", "b c", "a#b"]),
        ("1\n2\n", PLAIN, ["1", "2"]),
        ("2\n1\n02\n", ListFormat("int"), [2, 1]),
        ("1.5\n-0\n", ListFormat("float"), [1.5, 0.0]),
        ("80\n443\n", ListFormat("port"), [80, 443]),
        ("ip,why\n10.0.0.1,x\n10.0.0.2\n", ListFormat(column="ip", comment="why"), ["10.0.0.1", "10.0.0.2"]),
        ('x,"a, b"\n\ny,c\n', ListFormat(column="2"), ["a, b", "c"]),
        ("a,1\nb,2\n", ListFormat(is_csv=True), ["a", "b"]),
        ("\ufeffa\n", PLAIN, ["a"]),
        ("example.com\nA.Com\n", ListFormat("domain"), ["example.com", "A.Com"]),
        ("d41d8cd98f00b204e9800998ecf8427e", ListFormat("hash"), ["d41d8cd98f00b204e9800998ecf8427e"]),
        ("http://a/b\n", ListFormat("url"), ["http://a/b"]),
    ],
)
def test_values_get_their_type(text: str, form: ListFormat, values: list[object]) -> None:
    assert read(text, form).values.to_pylist() == values


def test_csv_has_comments_in_a_column() -> None:
    found = read('seen,ip,why\n1,10.0.0.1,"C2, old"\n2,10.0.0.2,\n', ListFormat(column="ip", comment="why"))
    assert found.comments == {"10.0.0.1": "C2, old"}
    assert read("1,first\n2,\n", ListFormat("int", "1", "2")).comments == {"1": "first"}


FAULTS = [
    ("10.0.0.1\nx\n10.0.0.256\n", PLAIN, "2 bad lines", "line 2: 'x' is no address", "line 3: '10.0.0.256' is no"),
    ("x\n1\n", ListFormat("int"), "1 bad line;", "line 1: 'x' is not a whole number"),
    ("1\n70000\n", ListFormat("port"), "line 2: 70000 is outside 0..65535"),
    ("nan\n", ListFormat("float"), "line 1: 'nan' is not a number"),
    ("a b\n", ListFormat("domain"), "line 1: 'a b' is no domain"),
    ("10.0.0.0/33\n", ListFormat("ip"), "line 1: '10.0.0.0/33' is no address"),
    ("\n".join(["x"] * 50), ListFormat("int"), "50 bad lines", "and 40 more lines"),
    ("a,b\n", ListFormat(column="c"), "the first line has no column 'c'"),
    ("a,b\n1,2\n", ListFormat(column="0"), "columns are counted from 1"),
    ("", PLAIN, "the list has no values"),
    ("# nothing\n", PLAIN, "the list has no values"),
    ("1\n", ListFormat("number"), "unknown type 'number'; known are ip,"),
    ("a,b\n1\n", ListFormat("int", "b"), "line 2: '' is not a whole number"),
]


@pytest.mark.parametrize(("text", "form", "messages"), [(text, form, rest) for text, form, *rest in FAULTS])
def test_bad_lines_are_named(text: str, form: ListFormat, messages: list[str]) -> None:
    with pytest.raises(UserError) as error:
        read(text, form)
    for message in messages:
        assert message in str(error.value)


def test_bytes_that_are_no_text_are_a_bad_line() -> None:
    with pytest.raises(UserError, match="line 2"):
        read_list(b"a\n\xff\xfe\n", PLAIN)


def test_bad_lines_may_be_left_out() -> None:
    found = read("10.0.0.1\nx\n10.0.0.2\n", ListFormat(skip_bad=True))
    assert (found.values.to_pylist(), found.skipped) == (["10.0.0.1", "10.0.0.2"], 1)
    with pytest.raises(UserError, match="no values"):
        read("x\n", ListFormat("int", skip_bad=True))


def test_there_is_a_largest_list() -> None:
    with pytest.raises(UserError, match="more than 1,000,000 values"):
        read("\n".join(map(str, range(MAX_LIST_VALUES + 1))))


@given(st.lists(st.ip_addresses(), min_size=1, max_size=30))
def test_any_addresses_come_back(addresses: list[object]) -> None:
    found = read("\n".join(map(str, addresses)))
    assert [ip_address(text) for text in found.values.to_pylist()] == list(dict.fromkeys(addresses))


def test_each_kind_is_a_type() -> None:
    assert set(LIST_KINDS) < set(LIST_TYPES)
