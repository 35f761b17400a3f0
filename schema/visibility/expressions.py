"""Visibility expressions: the labels that they name, and whether a set of labels satisfies them.

An expression is empty (everybody sees the data), or labels joined all by ``&`` or all by ``|``. The store enforces
expressions. The functions here decide what may be *said* about data: names of sources and fields.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_LABEL = re.compile(r"[A-Za-z0-9_\-:./]{1,200}", re.ASCII)
LABEL_FORM = "1 to 200 letters, digits and _ - : . /"


def is_label(text: str) -> bool:
    """Returns whether a text may be a label: what Accumulo takes in an expression without quotation marks."""
    return _LABEL.fullmatch(text) is not None


def list_labels(expression: str) -> list[str]:
    """Returns the labels that an expression names."""
    return [label for label in re.split(r"[&|]", expression) if label]


def is_satisfied(expression: str, labels: Collection[str]) -> bool:
    """Returns whether ``labels`` satisfy an expression, so that their holder sees what the expression protects.

    It takes what ``join_expressions`` returns, too.
    """
    if not expression:
        return True  # Asked of every field of every source, most of which have no label.
    parts = (part.strip("()").split("|") for part in expression.split("&"))
    return all(any(label in labels for label in part) for part in parts)


def join_expressions(expressions: Iterable[str]) -> str:
    """Returns the expression that only those satisfy who satisfy every one of ``expressions``."""
    distinct = sorted({expression for expression in expressions if expression})
    if len(distinct) < 2:
        return "".join(distinct)
    return "&".join(f"({expression})" if "|" in expression else expression for expression in distinct)
