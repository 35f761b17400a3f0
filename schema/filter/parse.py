"""Parses text of the filter language into an untyped filter tree.

``grammar.lark`` defines the language. The values of an untyped tree are ``str``, as the text has them; ``type_check``
converts them to the types of a source's fields. The tree has no positions in the text. They are returned beside the
tree, as a ``ConditionPlace`` for each condition, left to right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args

from watchfloor.schema.errors import FilterError
from watchfloor.schema.text import shorten_value

from . import tree as f
from .syntax.quoting import unquote_pattern, unquote_starred, unquote_text
from .syntax.syntax_errors import make_syntax_error
from .values import parse_network

MAX_LENGTH = 65_536
"""The largest number of characters in a filter's text."""
MAX_DEPTH = 64
"""The largest number of levels in which ``and``, ``or`` and ``not`` may be nested."""
MAX_TERMS = 4_096
"""The largest number of terms of a filter, which are its conditions and the values of its ``in`` lists."""


@dataclass(frozen=True)
class ConditionPlace:
    """The 0-based positions of one condition's field and values in the text, in characters."""

    field: int
    values: tuple[int, ...] = ()
    inner: tuple[ConditionPlace, ...] = ()
    """The places of the conditions of a query within this condition."""


@dataclass(frozen=True)
class ParsedFilter:
    """An untyped tree and the places of its conditions, left to right."""

    tree: f.Filter
    places: tuple[ConditionPlace, ...]


def parse_filter(text: str) -> f.Filter:
    """Returns the untyped tree of a text. Raises ``FilterError``, which shows the place and names what was expected."""
    return parse_with_places(text).tree


@lru_cache(maxsize=64)
def parse_with_places(text: str) -> ParsedFilter:
    """Returns the untyped tree and the places of its conditions; raises ``FilterError``.

    The last results are cached, because a text is parsed again to place the errors of its type check.
    """
    if len(text) > MAX_LENGTH:
        raise FilterError(
            f"the filter has {len(text):,} characters; at most {MAX_LENGTH:,} are allowed", text, MAX_LENGTH
        )
    if not text.strip():
        raise FilterError("the filter is empty; a condition was expected, such as status = 404", text, len(text))
    parser = _load_parser().parse_interactive(text)
    try:
        parser.exhaust_lexer()
        node: FilterNode = parser.feed_eof()
    except UnexpectedInput as error:
        raise make_syntax_error(text, error, parser.accepts()) from None
    except FilterError as error:
        raise FilterError(error.message, text, error.position) from None
    check_places(node.places, text)
    return ParsedFilter(node.tree, node.places)


def check_places(places: Sequence[ConditionPlace], text: str) -> None:
    """Raises ``FilterError`` if the conditions at ``places`` have more than ``MAX_TERMS`` terms together."""
    every = [one for place in places for one in (place, *place.inner)]
    terms = [term for place in every for term in (place.values or (place.field,))]
    check_terms(len(terms), text, terms)


def check_terms(terms: int, text: str = "", places: Sequence[int] = ()) -> None:
    """Raises ``FilterError`` if there are more than ``MAX_TERMS`` terms; ``places`` are their positions in ``text``."""
    if terms > MAX_TERMS:
        message = f"the filter has {terms:,} terms (conditions and listed values); at most {MAX_TERMS:,} fit"
        raise FilterError(message, text, places[MAX_TERMS] if places else 0)


def check_depth(depth: int, text: str = "", position: int = 0) -> None:
    """Raises ``FilterError`` if a filter is nested deeper than ``MAX_DEPTH`` levels."""
    if depth > MAX_DEPTH:
        raise FilterError(f"the filter is nested deeper than {MAX_DEPTH} levels", text, position)


def check_is_flat(where: f.Filter, text: str = "", position: int = 0) -> None:
    """Raises ``FilterError`` if the filter of a query within a filter has such a query itself."""
    if any(isinstance(condition, f.InQuery) for condition in f.list_conditions(where)):
        message = (
            "a query within a query within a filter goes too deep; put its values in a list (watchfloor lists put)"
        )
        raise FilterError(message, text, position)


@dataclass(frozen=True)
class FilterNode:
    """A part of the tree, with the places of its conditions and its depth, while the tree is built."""

    tree: f.Filter
    places: tuple[ConditionPlace, ...]
    depth: int

    @property
    def position(self) -> int:
        return self.places[0].field


@dataclass(frozen=True)
class Word:
    """A word or quoted string of the text."""

    text: str
    position: int


@dataclass(frozen=True)
class _Operand:
    """The right side of a comparison: the texts before, between and after its stars."""

    parts: tuple[str, ...]
    position: int


@dataclass(frozen=True)
class _Test:
    """The part of a condition after the field's name; ``make`` returns the condition for a name."""

    make: Callable[[str], f.Condition]
    values: tuple[int, ...]
    inner: tuple[ConditionPlace, ...] = ()


@v_args(inline=True)
class FilterBuilder(Transformer[Token, Any]):
    """Builds the tree's nodes while the text is parsed, so that deep nesting does not overflow the stack.

    The parser calls a method for each rule that it has recognized. The methods have the names of rules and aliases in
    ``grammar.lark``.
    """

    def any_of(self, *nodes: FilterNode) -> FilterNode:
        return _join_nodes(f.Or, nodes)

    def all_of(self, *nodes: FilterNode) -> FilterNode:
        return _join_nodes(f.And, nodes)

    def negate_filter(self, node: FilterNode) -> FilterNode:
        check_depth(node.depth + 1, position=node.position)
        return FilterNode(f.Not(node.tree), node.places, node.depth + 1)

    def make_exists(self, field: Word) -> FilterNode:
        return FilterNode(f.Exists(field.text), (ConditionPlace(field.position),), 1)

    def make_compare(self, field: Word, op: Token, operand: _Operand) -> FilterNode:
        place = ConditionPlace(field.position, (operand.position,))
        # Only = and != take stars as wildcards; other operators compare with the text as it is.
        if len(operand.parts) == 1 or op not in ("=", "!="):
            return FilterNode(f.Compare(field.text, str(op), "*".join(operand.parts)), (place,), 1)
        node = FilterNode(f.make_starred(field.text, *operand.parts), (place,), 1)
        return node if op == "=" else self.negate_filter(node)

    def apply_test(self, field: Word, test: _Test) -> FilterNode:
        return FilterNode(test.make(field.text), (ConditionPlace(field.position, test.values, test.inner),), 1)

    def negate_test(self, field: Word, test: _Test) -> FilterNode:
        return self.negate_filter(self.apply_test(field, test))

    def test_members(self, *values: Word) -> _Test:
        words = tuple(value.text for value in values)
        return _Test(lambda field: f.In(field, words), tuple(value.position for value in values))

    def test_list(self, token: Token) -> _Test:
        return _Test(lambda field: f.InList(field, token[1:]), (token.start_pos or 0,))

    def test_query(self, source: Word, *parts: FilterNode | Word) -> _Test:
        *filters, column = parts
        inner = next((node for node in filters if isinstance(node, FilterNode)), None)
        assert isinstance(column, Word)
        if inner is not None:
            check_is_flat(inner.tree, "", inner.position)
        places = () if inner is None else inner.places
        where = None if inner is None else inner.tree
        positions = (source.position, column.position)
        return _Test(lambda field: f.InQuery(field, source.text, where, column.text), positions, places)

    def test_network(self, word: Word) -> _Test:
        if "/" not in word.text:
            raise FilterError(
                f"{shorten_value(word.text)} is no network: "
                "write one as 10.0.0.0/8, a list as (VALUE, …), a range as 500..599",
                "",
                word.position,
            )
        network = parse_network(word.text)
        if network is None:
            raise FilterError(f"{shorten_value(word.text)} is no network such as 10.0.0.0/8", "", word.position)
        return _Test(lambda field: f.Cidr(field, network), (word.position,))

    def test_between(self, low: Word, high: Word) -> _Test:
        return _Test(lambda field: f.Between(field, low.text, high.text), (low.position, high.position))

    def test_prefix(self, word: Word) -> _Test:
        return _Test(lambda field: f.Prefix(field, word.text), (word.position,))

    def test_suffix(self, word: Word) -> _Test:
        return _Test(lambda field: f.make_ends_with(field, word.text), (word.position,))

    def test_contains(self, word: Word) -> _Test:
        return _Test(lambda field: f.make_contains(field, word.text), (word.position,))

    def test_like(self, token: Token) -> _Test:
        # In quotes the text \* stands for a plain star, which the wildcard would read as any run of characters.
        for escape in re.finditer(r"\\.", token):
            if escape[0] == r"\*" and token.type == "QUOTED":
                position = (token.start_pos or 0) + escape.start()
                raise FilterError(r"in the quotes of a wildcard a star itself is written \\*", "", position)
        word = self.value(token)
        return _Test(lambda field: f.Wildcard(field, word.text), (word.position,))

    def test_regex(self, token: Token) -> _Test:
        position = token.start_pos or 0
        pattern, ignore_case = unquote_pattern(str(token), position)
        return _Test(lambda field: f.Matches(field, pattern, ignore_case), (position,))

    def operand(self, token: Token) -> _Operand:
        position = token.start_pos or 0
        parts = unquote_starred(str(token), position) if token.type == "QUOTED" else str(token).split("*")
        return _Operand(tuple(parts), position)

    def bound(self, token: Token) -> Word:
        return self.value(token)

    def field(self, token: Token) -> Word:
        if token.type == "BACKTICKED":
            return Word(token[1:-1], token.start_pos or 0)
        return self.value(token)

    def value(self, token: Token) -> Word:
        position = token.start_pos or 0
        return Word(unquote_text(str(token), position) if token.type == "QUOTED" else str(token), position)


def _join_nodes(kind: type[f.And] | type[f.Or], nodes: tuple[FilterNode, ...]) -> FilterNode:
    """Returns the ``and`` or ``or`` of some nodes; raises ``FilterError`` if it is nested too deep."""
    depth = 1 + max(node.depth for node in nodes)
    check_depth(depth, position=nodes[0].position)
    places = tuple(place for node in nodes for place in node.places)
    return FilterNode(kind(tuple(node.tree for node in nodes)), places, depth)


def load_grammar() -> str:
    """Returns the text of the grammar; the language of stats has it within its own."""
    return (files(__package__) / "grammar.lark").read_text("utf-8")


@cache
def _load_parser() -> Lark:
    """Returns the parser of the grammar, which builds the tree while it parses."""
    return Lark(
        load_grammar(), parser="lalr", lexer="contextual", transformer=FilterBuilder(), maybe_placeholders=False
    )
