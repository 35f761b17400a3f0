"""Functions of expressions give what they should, and the servers' Java gives the same.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jpype
import pytest
from expression_oracle import registered_domain
from hypothesis import given, settings
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from watchfloor.schema.filter.expressions.domains import find_registered_domain, load_rules
from watchfloor.schema.filter.expressions.entropy import log2, measure_entropy
from watchfloor.schema.filter.expressions.functions import FUNCTIONS
from watchfloor.schema.filter.expressions.lower_case import load_lower_case, to_lower
from watchfloor.schema.filter.expressions.nodes import FieldValue, FunctionCall
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.times import to_micros
from watchfloor.store.bridge import jvm
from watchfloor.store.encoding.expressions import encode_tables

LETTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
TEXTS = (
    "", "a", "A", "aA", "ÄÖÜ", "İ", "I", "ı", "ß", "ẞ", "SS", "Σ", "ΣΑΣ", "ς", "ǅ", "K", "\u212a", "ſ", "e\u0301", "É",
    "😀", "𐐀𐐨", "\U0001e900", "\U0010ffff", "\x00", "\x00\x00a", "日本語", "\uffff", "a" * 5_000, "ab" * 2_049,
    "\u0130\u0307",
)  # fmt: skip
NAMES = {
    "www.example.com": "example.com",
    "example.com": "example.com",
    "WWW.Example.COM.": "example.com",
    "com": None,
    "co.uk": None,
    "a.b.example.co.uk": "example.co.uk",
    "kobe.jp": None,
    "c.kobe.jp": None,
    "b.c.kobe.jp": "b.c.kobe.jp",
    "city.kobe.jp": "city.kobe.jp",
    "www.city.kobe.jp": "city.kobe.jp",
    "www.ck": "www.ck",
    "a.www.ck": "www.ck",
    "x.ck": None,
    "user.github.io": "github.io",
    "a.unknown": "a.unknown",
    "b.a.unknown": "a.unknown",
    "localhost": None,
    "食狮.公司.cn": "食狮.公司.cn",
    "www.xn--85x722f.xn--55qx5d.cn": "xn--85x722f.xn--55qx5d.cn",
    "BÜCHER.example.DE": "example.de",
    "www.bücher.de": "bücher.de",
    "_dmarc.example.org": "example.org",
    "10.0.0.1": None,
    "2001:db8::1": None,
    "example.com:8080": None,
    "a b.com": None,
    "": None,
    ".": None,
    "..": None,
    ".com": None,
    ".example.com": None,
    "a..example.com": None,
    "example.com..": None,
    "a.b.c.d.e.f.g.example.com": "example.com",
}


class Servers:
    """The functions that tablet servers have, out of our jar."""

    def __init__(self) -> None:
        jvm.start_jvm(load_settings().jars)
        package = "watchfloor.iterators.expression.text"
        tables = read_tables(encode_tables([FunctionCall("registered_domain", FieldValue("a"))]))
        self._lower = jvm.java_class(f"{package}.LowerCase")(to_java(tables[1]))
        self._domains = jvm.java_class(f"{package}.RegisteredDomains")(to_java(tables[2]), self._lower)
        self._entropy = jvm.java_class(f"{package}.Entropy")()

    def lower(self, text: str) -> str:
        return self._call(self._lower.toLower, text)

    def registered_domain(self, text: str) -> str | None:
        return self._call(self._domains.find, text)

    def entropy(self, text: str) -> float:
        value = text.encode()
        return float(self._entropy.measure(to_java(b"x" + value + b"y"), 1, 1 + len(value)))

    def _call(self, function: Callable[..., Any], text: str) -> Any:
        value = text.encode()
        found = function(to_java(b"x" + value + b"y"), 1, 1 + len(value))
        return None if found is None else bytes(found).decode()


def to_java(value: bytes) -> Any:
    return jpype.JArray(jpype.JByte)(value)


def read_tables(encoded: bytes) -> dict[int, bytes]:
    """The tables of a program, by their kinds."""
    tables, at = {}, 1
    for _ in range(encoded[0]):
        length = int.from_bytes(encoded[at + 1 : at + 5], "big")
        tables[encoded[at]] = zlib.decompress(encoded[at + 5 : at + 5 + length])
        at += 5 + length
    assert at == len(encoded)
    return tables


@pytest.fixture(scope="module")
def servers() -> Servers:
    return Servers()


def test_lower_case_is_the_simple_mapping_of_every_character(servers: Servers) -> None:
    java = jvm.java_class("java.lang.Character")
    lower = [to_lower(letter) for letter in LETTERS]
    assert "".join(lower) == servers.lower("".join(LETTERS))
    assert {len(letter) for letter in lower} == {1}
    for letter, small in zip(LETTERS, lower, strict=True):
        assert small == letter.lower() or (letter == "İ" and small == "i")
        # Java's Unicode may be older, and know no case of a newer letter.
        if small != letter:
            assert java.toLowerCase(jpype.JInt(ord(letter))) in (ord(small), ord(letter))
    assert sum(java.toLowerCase(jpype.JInt(code)) == lower for code, lower in load_lower_case().items()) > 1_350
    assert to_lower("ΣΑΣ") == "σασ" and to_lower("İSTANBUL") == "istanbul"


@given(st.text(max_size=40))
@settings(max_examples=300)
def test_any_text_is_the_same_on_the_servers(servers: Servers, text: str) -> None:
    assert servers.lower(text) == to_lower(text)
    assert servers.entropy(text) == measure_entropy(text)
    assert servers.registered_domain(text) == find_registered_domain(text) == registered_domain(text)


@pytest.mark.parametrize("text", TEXTS)
def test_odd_texts_are_the_same_on_the_servers(servers: Servers, text: str) -> None:
    assert servers.lower(text) == to_lower(text)
    assert servers.entropy(text) == measure_entropy(text)


@given(st.text("abcdeß😀", max_size=200) | st.text(max_size=200))
@settings(max_examples=300)
def test_entropy_is_shannons(text: str) -> None:
    shares = [count / len(text) for count in Counter(text).values()]
    assert math.isclose(measure_entropy(text), -sum(p * math.log2(p) for p in shares), abs_tol=1e-12)


def test_entropy_of_equal_shares_is_exact() -> None:
    assert [measure_entropy(text) for text in ("", "a", "aaa", "ab", "aabb", "abcd", "abcdefgh")] == [
        0, 0, 0, 1, 1, 2, 3,
    ]  # fmt: skip
    assert all(math.isclose(log2(n), math.log2(n), rel_tol=1e-15, abs_tol=0) for n in range(2, 20_000))
    assert [log2(1 << bits) for bits in range(60)] == list(range(60))


@pytest.mark.parametrize(("name", "wanted"), NAMES.items())
def test_registered_domains(servers: Servers, name: str, wanted: str | None) -> None:
    assert find_registered_domain(name) == servers.registered_domain(name) == wanted


def test_registered_domains_around_every_rule(servers: Servers) -> None:
    package = PublicSuffixList(only_icann=True)
    assert len(load_rules()) > 7_000
    for rule in load_rules():
        suffix = rule.lstrip("!").removeprefix("*.")
        for name in (suffix, f"b.{suffix}", f"a.b.{suffix}", f"z.a.b.{suffix}"):
            wanted = package.privatesuffix(name)
            assert find_registered_domain(name) == wanted, name
            assert servers.registered_domain(name) == wanted, name


labels = st.sampled_from(
    ("www", "example", "a", "", "10", "_x", "食狮", "XN--55QX5D", "ck", "kobe", "jp", "co", "uk", "!", "*")
)


@given(st.lists(labels, max_size=6).map(".".join))
@settings(max_examples=500)
def test_registered_domains_of_drawn_names(servers: Servers, name: str) -> None:
    assert find_registered_domain(name) == servers.registered_domain(name) == registered_domain(name)


@given(st.datetimes(min_value=datetime(1600, 1, 1), max_value=datetime(2400, 1, 1)))
def test_hours_and_days_are_those_of_utc(moment: datetime) -> None:
    moment = moment.replace(tzinfo=UTC)
    micros = to_micros(moment)
    assert FUNCTIONS["hour"].compute(micros) == moment.hour
    assert FUNCTIONS["weekday"].compute(micros) == moment.isoweekday()
    assert FUNCTIONS["weekday"].compute(micros + timedelta(days=7) // timedelta(microseconds=1)) == moment.isoweekday()
