"""The brute-force oracle of Sigma: the YAML of a rule evaluated on one event in plain Python.

It shares nothing with the conversion, nor with pySigma: only what the specification of Sigma says. ``find`` gives the
values that an event has for a name of rules, as texts, numbers and truth values; none for a name that it lacks.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any

Find = Callable[[str], Sequence[Any]]
_DASHES = "-/–—―"


def rule_holds(detection: Mapping[str, Any], find: Find, texts: Sequence[str]) -> bool:
    """Returns whether an event matches; ``texts`` are all its texts, in which keywords are looked for."""
    searches = {name: value for name, value in detection.items() if name not in ("condition", "timeframe")}
    conditions = detection["condition"]
    results: dict[str, bool] = {}

    def holds(name: str) -> bool:
        if name not in results:
            results[name] = search_holds(searches[name], find, texts)
        return results[name]

    listed = conditions if isinstance(conditions, list) else [conditions]
    return any(_Condition(condition, sorted(searches), holds).evaluate() for condition in listed)


class _Condition:
    """A condition, read from left to right: ``or`` of ``and`` of ``not``."""

    def __init__(self, text: str, names: Sequence[str], holds: Callable[[str], bool]) -> None:
        self.words = re.findall(r"[()]|[^\s()]+", text)
        self.names, self.holds, self.at = names, holds, 0

    def evaluate(self) -> bool:
        result = self.read_or()
        assert self.at == len(self.words), self.words
        return result

    def take(self, *words: str) -> bool:
        if self.at < len(self.words) and self.words[self.at].lower() in words:
            self.at += 1
            return True
        return False

    def read_or(self) -> bool:
        results = [self.read_and()]
        while self.take("or"):
            results.append(self.read_and())
        return any(results)

    def read_and(self) -> bool:
        results = [self.read_not()]
        while self.take("and"):
            results.append(self.read_not())
        return all(results)

    def read_not(self) -> bool:
        if self.take("not"):
            return not self.read_not()
        if self.take("("):
            result = self.read_or()
            assert self.take(")")
            return result
        word = self.words[self.at]
        if word in ("1", "any", "all") and self.words[self.at + 1 : self.at + 2] == ["of"]:
            pattern = self.words[self.at + 2]
            self.at += 3
            fits = re.compile(".*" if pattern == "them" else re.escape(pattern).replace(r"\*", ".*")).fullmatch
            chosen = [name for name in self.names if fits(name) and not name.startswith("_")]
            return (all if word == "all" else any)(self.holds(name) for name in chosen)
        self.at += 1
        return self.holds(word)


def search_holds(search: Any, find: Find, texts: Sequence[str]) -> bool:
    """Returns whether a search identifier holds: a map is an ``and``, a list an ``or``, a text a keyword."""
    if isinstance(search, Mapping):
        return all(_item_holds(key, value, find, texts) for key, value in search.items())
    if isinstance(search, list):
        return any(search_holds(one, find, texts) for one in search)
    return _keyword_holds(search, texts)


def _keyword_holds(value: Any, texts: Sequence[str]) -> bool:
    return any(_to_pattern(f"*{value}*", False).fullmatch(text) for text in texts)


def _item_holds(key: str, value: Any, find: Find, texts: Sequence[str]) -> bool:
    name, *modifiers = key.split("|")
    wanted = value if isinstance(value, list) else [value]
    combine = all if "all" in modifiers else any
    modifiers = [modifier for modifier in modifiers if modifier != "all"]
    if not name:
        return combine(_keyword_holds(one, texts) for one in wanted)
    found = list(find(name))
    return combine(_value_holds(one, modifiers, found, find) for one in wanted)


def _value_holds(wanted: Any, modifiers: Sequence[str], found: Sequence[Any], find: Find) -> bool:
    if wanted is None:
        return not found
    if "exists" in modifiers:
        return bool(found) is wanted
    if "fieldref" in modifiers:
        others = {str(other).lower() for other in find(wanted)}
        return any(str(one).lower() in others for one in found)
    if "cidr" in modifiers:
        return any(_lies_in(one, wanted) for one in found)
    for name, compare in (("lt", "__lt__"), ("lte", "__le__"), ("gt", "__gt__"), ("gte", "__ge__")):
        if name in modifiers:
            return any(getattr(float(one), compare)(float(wanted)) for one in found)
    if "re" in modifiers:
        flags = (
            (re.I if "i" in modifiers else 0) | (re.M if "m" in modifiers else 0) | (re.S if "s" in modifiers else 0)
        )
        return any(re.search(wanted, one, flags) for one in found)
    if wanted in ("", "-") and not found and set(modifiers) <= {"cased", "windash"}:
        return True
    return any(_text_holds(text, modifiers, one) for text in _expand(str(wanted), tuple(modifiers)) for one in found)


@lru_cache(maxsize=100_000)
def _expand(wanted: str, modifiers: tuple[str, ...]) -> list[str]:
    """Returns the texts that encoding and dashes make of a text."""
    texts = [wanted]
    for modifier in modifiers:
        if modifier == "wide":
            texts = ["".join(f"{character}\0" for character in text) for text in texts]
        elif modifier == "base64":
            texts = [base64.b64encode(text.encode()).decode() for text in texts]
        elif modifier == "base64offset":
            texts = [part for text in texts for part in _offset_parts(text.encode())]
        elif modifier == "windash":
            texts = [changed for text in texts for changed in _vary_dashes(text)]
    return texts


def _offset_parts(data: bytes) -> Iterator[str]:
    """Yields those characters of the base64 of a longer text that depend on ``data`` alone, for each place in it."""
    for before in range(3):
        bits = range(8 * before, 8 * (before + len(data)))
        encoded = base64.b64encode(b"\0" * before + data).decode()
        yield "".join(c for place, c in enumerate(encoded) if set(range(6 * place, 6 * place + 6)) <= set(bits))


def _vary_dashes(text: str) -> Iterator[str]:
    pieces = re.split(r"\B[-/]\b", text)
    for dashes in itertools.product(_DASHES, repeat=len(pieces) - 1):
        yield "".join(itertools.chain.from_iterable(itertools.zip_longest(pieces, dashes, fillvalue="")))


def _text_holds(text: str, modifiers: Sequence[str], found: Any) -> bool:
    before = "*" if "contains" in modifiers or "endswith" in modifiers else ""
    after = "*" if "contains" in modifiers or "startswith" in modifiers else ""
    if isinstance(found, bool):
        return str(found).lower() == text.lower()
    if isinstance(found, (int, float)):
        return re.fullmatch(r"-?\d+(\.\d+)?|0x[0-9a-f]+", text, re.I) is not None and float(
            int(text, 16) if text.lower().startswith("0x") else text
        ) == float(found)
    return _to_pattern((before, text, after), "cased" in modifiers).fullmatch(str(found)) is not None


@lru_cache(maxsize=100_000)
def _to_pattern(text: str | tuple[str, str, str], cased: bool) -> re.Pattern[str]:
    """Returns the pattern of a text with wildcards; a backslash before a wildcard or a backslash makes it plain."""
    before, middle, after = ("", text, "") if isinstance(text, str) else text
    out = [".*" if before else ""]
    at = 0
    while at < len(middle):
        if middle[at] == "\\" and middle[at + 1 : at + 2] in ("*", "?", "\\"):
            out.append(re.escape(middle[at + 1]))
            at += 1
        else:
            out.append({"*": ".*", "?": "."}.get(middle[at]) or re.escape(middle[at]))
        at += 1
    out.append(".*" if after else "")
    return re.compile("".join(out), re.DOTALL | (0 if cased else re.IGNORECASE))


def _lies_in(found: Any, network: str) -> bool:
    try:
        return ip_address(found) in ip_network(network)
    except ValueError:
        return False
