"""Registered domains, by the public suffix list of the package ``publicsuffixlist``.

Only the list's ICANN section is used: suffixes under which companies let others register (``github.io``) are registered
domains themselves. Rules for international names are there in both forms, with letters and as ``xn--``.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import publicsuffixlist

from .lower_case import to_lower

_BEGIN, _END = "// ===BEGIN ICANN DOMAINS===", "// ===END ICANN DOMAINS==="
_NAME = re.compile(r"(?:[^\x00-\x7f]|[a-z0-9_.-])+")
_DIGITS = re.compile(r"[0-9]+")


@cache
def load_rules() -> frozenset[str]:
    """Returns the list's rules: suffixes, ``*.`` and a suffix for all names right under it, and exceptions to these.

    An exception begins with ``!``.
    """
    text = Path(publicsuffixlist.PSLFILE).read_text("utf-8")
    lines = text[text.index(_BEGIN) : text.index(_END)].splitlines()
    rules = [to_lower(line.split()[0]) for line in lines if line.strip() and not line.startswith("//")]
    return frozenset((*rules, *map(_encode_rule, rules)))


def find_registered_domain(name: str) -> str | None:
    """Returns the public suffix of a host's name and the label before it, in lower case; None if it has none.

    A name that is itself a public suffix has none, and an address, a name with an empty label, or a name with other
    characters than letters, digits, ``-`` and ``_`` has none either. One dot at the end is left out. Below a top-level
    domain that is not listed, that domain is the suffix.
    """
    lower = to_lower(name).removesuffix(".")
    labels = lower.split(".")
    if "" in labels or not _NAME.fullmatch(lower) or _DIGITS.fullmatch(labels[-1]):
        return None
    own = len(labels) - _count_suffix_labels(labels) - 1
    return ".".join(labels[own:]) if own >= 0 else None


def _count_suffix_labels(labels: list[str]) -> int:
    """Returns the number of labels in the public suffix of a name."""
    rules = load_rules()
    for labels_left in range(min(len(labels), _count_most_labels()), 0, -1):
        suffix = ".".join(labels[-labels_left:])
        if f"!{suffix}" in rules:
            return labels_left - 1
        if f"*.{suffix}" in rules:
            return min(labels_left + 1, len(labels))
        if suffix in rules:
            return labels_left
    return 1


@cache
def _count_most_labels() -> int:
    return max(rule.count(".") + 1 for rule in load_rules())


def _encode_rule(rule: str) -> str:
    """Returns a rule with its international labels as ``xn--``."""
    mark = "!" if rule.startswith("!") else ""
    return mark + rule.removeprefix("!").encode("idna").decode("ascii")
