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

from lark import Lark, Token, UnexpectedInput, v_args

from watchfloor.schema.errors import FilterError
from watchfloor.schema.text import shorten_value

from . import tree as f
from .expressions.nodes import Expression, FieldValue
from .expressions.parse import ExpressionBuilder, ExpressionNode, Word
from .syntax.limits import MAX_LENGTH, check_depth, check_terms
from .syntax.quoting import unquote_pattern, unquote_starred
from .syntax.syntax_errors import make_syntax_error
from .values import parse_network


@dataclass(frozen=True)
class ConditionPlace:
    """The 0-based positions of one condition's field and values in the text, in characters.

    If it has expressions, ``parts`` are the positions of their nodes, left to right, each before its operands.
    """

    field: int
    values: tuple[int, ...] = ()
    inner: tuple[ConditionPlace, ...] = ()
    """The places of the conditions of a query within this condition."""
    parts: tuple[int, ...] = ()

    @property
    def terms(self) -> tuple[int, ...]:
        """The positions of all that counts as a term."""
        own = (*self.parts, *self.values) or (self.field,)
        return (*own, *(term for place in self.inner for term in place.terms))


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
    terms = [term for place in places for term in place.terms]
    check_terms(len(terms), text, terms)


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
class FilterBuilder(ExpressionBuilder):
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

    def make_exists(self, node: ExpressionNode) -> FilterNode:
        return _join_condition(node, f.Exists, ())

    def make_compare(self, left: ExpressionNode, op: Token, operand: _Operand | ExpressionNode) -> FilterNode:
        if isinstance(operand, ExpressionNode):
            place = ConditionPlace(left.position, parts=(*left.places, *operand.places))
            tree = f.ExpressionCompare(left.expression, str(op), operand.expression)
            return FilterNode(tree, (place,), max(left.depth, operand.depth))
        # Only = and != take stars as wildcards; other operators compare with the text as it is.
        if len(operand.parts) == 1 or op not in ("=", "!="):
            value = "*".join(operand.parts)
            return _join_condition(left, lambda field: f.Compare(field, str(op), value), (operand.position,))
        node = _join_condition(left, lambda field: f.make_starred(field, *operand.parts), (operand.position,))
        return node if op == "=" else self.negate_filter(node)

    def apply_test(self, left: ExpressionNode, test: _Test) -> FilterNode:
        return _join_condition(left, test.make, test.values, test.inner)

    def negate_test(self, left: ExpressionNode, test: _Test) -> FilterNode:
        return self.negate_filter(self.apply_test(left, test))

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

    def operand(self, content: Token | Word | ExpressionNode) -> _Operand | ExpressionNode:
        if isinstance(content, ExpressionNode):
            return content
        if isinstance(content, Word):
            return _Operand((content.text,), content.position)
        position = content.start_pos or 0
        starred = unquote_starred(str(content), position) if content.type == "QUOTED" else content.split("*")
        return _Operand(tuple(starred), position)

    def bound(self, token: Token) -> Word:
        return self.value(token)


def join_condition(expression: Expression, make: Callable[[str], f.Condition]) -> f.Condition | f.ExpressionTest:
    """Returns the condition that ``make`` returns for a field, on a field or on another expression."""
    if isinstance(expression, FieldValue):
        return make(expression.name)
    return f.ExpressionTest(expression, make(""))


def _join_condition(
    node: ExpressionNode,
    make: Callable[[str], f.Condition],
    values: tuple[int, ...],
    inner: tuple[ConditionPlace, ...] = (),
) -> FilterNode:
    """Returns the condition that ``make`` returns for a field, on an expression.

    ``values`` and ``inner`` are the places of its values and of the conditions of a query in it.
    """
    is_field = isinstance(node.expression, FieldValue)
    position, parts = (node.places[0], ()) if is_field else (node.position, node.places)
    place = ConditionPlace(position, values, inner, parts)
    return FilterNode(join_condition(node.expression, make), (place,), node.depth)


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
