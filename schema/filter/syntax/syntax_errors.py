"""Error messages for filters that do not parse: what was expected, what was found, and the likely remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from lark import UnexpectedInput, UnexpectedToken

from watchfloor.schema.errors import FilterError
from watchfloor.schema.text import join_words

Hint = tuple[str, set[str], str]
"""A pattern of the text at an error, the terminals of which the parser expected one, and the remedy."""
TERMINAL_NAMES = {
    "FIELD": "a field",
    "COMPARE": "an operator (= != < <= > >=)",
    "_TILDE": "~",
    "_IN": "in",
    "_LIKE": "like",
    "_STARTSWITH": "startswith",
    "_ENDSWITH": "endswith",
    "_CONTAINS": "contains",
    "_DOTS": "..",
    "BOUND": "a value",
    "WORD": "a value",
    "LIKE_WORD": "a pattern such as *.example.com",
    "REGEX": "a pattern between slashes",
    "_EXISTS": "exists",
    "_NOT": "not",
    "_AND": "and",
    "_OR": "or",
    "LPAR": "an opening parenthesis",
    "RPAR": "a closing parenthesis",
    "COMMA": "a comma",
    "$END": "the end of the filter",
}
"""The grammar's terminals in words, in the order in which they are listed."""
HINTS: tuple[Hint, ...] = (
    (r"==", {"WORD"}, "equality is written ="),
    (r"<>", {"WORD"}, "inequality is written !="),
    (r"=~", {"WORD"}, "a pattern is written FIELD ~ /…/"),
    (r"!~", {"_TILDE"}, "write FIELD not ~ /…/"),
    (r"!", {"FIELD"}, "write not"),
    (r"&&?", {"_AND"}, "write and"),
    (r"\|\|?", {"_OR", "RPAR", "$END"}, "write or"),
    (r"\*|\?", {"WORD", "_AND"}, "put the value in quotes"),
    (r"(?:and|or|not)\b", {"WORD", "LIKE_WORD"}, "the word is reserved; put it in quotes if it is meant as a value"),
    (r"(?:in|like|startswith|endswith|contains|exists)\b", {"FIELD"}, "put a field of that name in backticks"),
    (r"[\"'`]", {"FIELD", "WORD", "BOUND", "LIKE_WORD", "REGEX"}, "the quote is never closed"),
    (r"/", {"REGEX"}, "the pattern's closing slash is missing"),
    (r"[^\x00-\x7f]|[({}\[\]\\;<>=!~]", {"WORD", "_AND"}, "a value with such characters goes in quotes"),
)
_FOUND = re.compile(r"[\w.@-]+|\S")


def make_syntax_error(
    text: str,
    error: UnexpectedInput,
    accepts: Iterable[str],
    names: Mapping[str, str] = TERMINAL_NAMES,
    hints: Sequence[Hint] = HINTS,
) -> FilterError:
    """Returns the error for text that the parser could not read; ``accepts`` are the terminals that it expected.

    ``names`` has the terminals of the text's language in words, in the order in which they are listed.
    """
    ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    position = len(text.rstrip()) if ended else error.pos_in_stream or 0
    accepted = set(accepts)
    if "WORD" in accepted:
        accepted.discard("LPAR")  # An expression may stand there too, but a value is what is mostly meant.
    expected = list(dict.fromkeys(name for terminal, name in names.items() if terminal in accepted))
    if "VBAR" in accepted and not expected:
        expected = ["| and a field, whose values the query finds"]
    message = f"expected {join_words(expected, 'or')}, found {_describe_found(text, position, names['$END'])}"
    hint = _find_hint(text, position, accepted, hints)
    return FilterError(f"{message}; {hint}" if hint else message, text, position)


def _describe_found(text: str, position: int, end: str) -> str:
    """Returns the word at ``position`` in quotes; ``end`` if the text ends there."""
    match = _FOUND.match(text, position)
    return f"{match[0][:30]!r}" if match else end


def _find_hint(text: str, position: int, accepted: set[str], hints: Sequence[Hint]) -> str:
    """Returns the likely remedy; an empty string if there is none."""
    # The first half of a doubled operator (==) is read as an operator, so the parser fails at the second half.
    for start in (position - 1, position):
        for pattern, expected, hint in hints:
            match = re.compile(pattern, re.IGNORECASE).match(text, max(0, start))
            if match and match.end() > position and accepted & expected:
                return hint
    return ""
