"""Conditions on fields that a source keeps in ``extra``: an object in JSON, without spaces, as one text.

Its member is found by its name, at any depth. A value that is a list is searched as the elements before the first that
is no text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.filter import tree as f

from .texts import TextPart, quote_regex, to_regex

_CHARACTER = r'(?:[^"\\]|\\.)'
_NUMBER_END = "[,}]"


def find_member(name: str) -> f.Filter:
    """Returns the condition that an event has the member."""
    return f.Matches(EXTRA_FIELD, f"{_quote_text(json.dumps(name, ensure_ascii=False))}:")


def match_text(name: str, parts: Sequence[TextPart], ignore_case: bool) -> f.Filter:
    """Returns the condition that the member is a text that fits ``parts``; a literal number may be a number too."""
    body = to_regex(
        parts, lambda text: _quote_text(json.dumps(text, ensure_ascii=False)[1:-1]), f"{_CHARACTER}*", _CHARACTER
    )
    start = f"{_quote_text(json.dumps(name, ensure_ascii=False))}:"
    text = rf'\[?(?:"{_CHARACTER}*",)*"{body}"'
    if len(parts) == 1 and isinstance(parts[0], str) and _is_bare(parts[0]):
        text = f"(?:{text}|{body}{_NUMBER_END})"
    return f.Matches(EXTRA_FIELD, start + text, ignore_case)


def _quote_text(text: str) -> str:
    return quote_regex(text)


def _is_bare(text: str) -> bool:
    """Returns whether a text is a number or a truth value as JSON writes them."""
    try:
        return isinstance(json.loads(text.lower()), (int, float))
    except ValueError:
        return False
