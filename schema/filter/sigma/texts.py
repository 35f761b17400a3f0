"""Texts of rules with their wildcards: as patterns of the filter language, and as regular expressions.

``*`` in a rule stands for any run of characters and ``?`` for any one character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Union

from sigma.types import Placeholder, SigmaString, SpecialChars

from watchfloor.schema.errors import RuleError
from watchfloor.schema.filter.expressions.lower_case import to_lower

TextPart = Union[str, SpecialChars]
ANY_RUN, ANY_ONE = SpecialChars.WILDCARD_MULTI, SpecialChars.WILDCARD_SINGLE


def read_parts(value: SigmaString) -> tuple[TextPart, ...]:
    """Returns the literal texts and wildcards of a value. Raises ``RuleError`` for a placeholder."""
    parts: list[TextPart] = []
    for part in value.s:
        if isinstance(part, Placeholder):
            raise RuleError(f"the placeholder %{part.name}% has no value here; write the values into the rule")
        if parts and part is ANY_RUN and parts[-1] is ANY_RUN:
            continue
        if parts and isinstance(part, str) and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    return tuple(parts)


def lower_parts(parts: Sequence[TextPart]) -> tuple[TextPart, ...]:
    """Returns the parts in lower case."""
    return tuple(to_lower(part) if isinstance(part, str) else part for part in parts)


def has_case(parts: Sequence[TextPart]) -> bool:
    """Returns whether a text with another case differs from this one, so that a field's value must be lowered."""
    return any(part.upper() != part or to_lower(part) != part for part in parts if isinstance(part, str))


def is_literal(parts: Sequence[TextPart]) -> bool:
    """Returns whether a text has no wildcards."""
    return all(isinstance(part, str) for part in parts)


def to_wildcard(parts: Sequence[TextPart]) -> str:
    """Returns the pattern of the filter language's ``like``."""
    return "".join(
        re.sub(r"[*?\\]", r"\\\g<0>", part) if isinstance(part, str) else "*" if part is ANY_RUN else "?"
        for part in parts
    )


def to_regex(parts: Sequence[TextPart], quote: Callable[[str], str], run: str = "(?s:.*)", one: str = "(?s:.)") -> str:
    """Returns an RE2 pattern; ``quote`` writes literal text, ``run`` and ``one`` stand for the wildcards."""
    signs = {ANY_RUN: run, ANY_ONE: one}
    return "".join(quote(part) if isinstance(part, str) else signs[part] for part in parts)


def quote_regex(text: str) -> str:
    """Returns the RE2 pattern of a literal text."""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)
