"""Builds expressions while their text is parsed; ``filter.parse.FilterBuilder`` builds the conditions around them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from lark import Token, Transformer, v_args

from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.syntax.limits import check_depth
from watchfloor.schema.filter.syntax.quoting import unquote_text
from watchfloor.schema.text import shorten_value

from .functions import FIELD_FUNCTION, FUNCTIONS, describe_unknown_function
from .nodes import Arithmetic, Expression, FieldValue, FunctionCall, Number, negate

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[A-Z_@][A-Z0-9_.@-]*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Word:
    """A word or quoted string of the text."""

    text: str
    position: int


@dataclass(frozen=True)
class ExpressionNode:
    """A part of an expression, while it is built: the positions of its nodes, each before its operands; its depth.

    ``position`` is where its text begins.
    """

    expression: Expression
    places: tuple[int, ...]
    depth: int
    position: int


@v_args(inline=True)
class ExpressionBuilder(Transformer[Token, Any]):
    """Builds expressions. The parser calls a method for each rule of ``grammar.lark`` that it has recognized."""

    def calculate(self, left: ExpressionNode | Word, op: Token, right: ExpressionNode) -> ExpressionNode:
        left = _read_first(left)
        depth, position = 1 + max(left.depth, right.depth), op.start_pos or 0
        check_depth(depth, position=position)
        places = (position, *left.places, *right.places)
        return ExpressionNode(Arithmetic(str(op), left.expression, right.expression), places, depth, left.position)

    def negate_number(self, sign: Token, node: ExpressionNode) -> ExpressionNode:
        position = sign.start_pos or 0
        negative = negate(node.expression)
        if isinstance(negative, Number):
            return ExpressionNode(negative, (position,), 1, position)
        check_depth(node.depth + 1, position=position)
        return ExpressionNode(negative, (position, *node.places), node.depth + 1, position)

    def apply_function(self, name: Token, node: ExpressionNode) -> ExpressionNode:
        position, function = name.start_pos or 0, name.lower()
        if function == FIELD_FUNCTION:
            if not isinstance(node.expression, FieldValue):
                raise FilterError(f"{FIELD_FUNCTION} takes the name of a field", "", node.position)
            return ExpressionNode(node.expression, node.places, 1, position)
        if function not in FUNCTIONS:
            raise FilterError(describe_unknown_function(function), "", position)
        check_depth(node.depth + 1, position=position)
        return ExpressionNode(
            FunctionCall(function, node.expression), (position, *node.places), node.depth + 1, position
        )

    def take_field(self, name: Word) -> ExpressionNode:
        return ExpressionNode(FieldValue(name.text), (name.position,), 1, name.position)

    def take_quoted(self, token: Token) -> ExpressionNode:
        return self.take_field(self.field(token))

    def take_number(self, token: Token) -> ExpressionNode:
        return _read_number(Word(str(token), token.start_pos or 0))

    def take_word(self, token: Token) -> Word:
        return Word(str(token), token.start_pos or 0)

    def field(self, token: Token) -> Word:
        if token.type == "BACKTICKED":
            return Word(token[1:-1], token.start_pos or 0)
        return self.value(token)

    def value(self, token: Token) -> Word:
        position = token.start_pos or 0
        return Word(unquote_text(str(token), position) if token.type == "QUOTED" else str(token), position)


def _read_first(node: ExpressionNode | Word) -> ExpressionNode:
    """Returns the expression of a word behind which an operator stands: a number, or the name of a field."""
    if isinstance(node, ExpressionNode):
        return node
    if _NUMBER.fullmatch(node.text):
        return _read_number(node)
    if not _NAME.fullmatch(node.text):
        message = f"{shorten_value(node.text)} is neither a number nor a field's name; operators stand between spaces"
        raise FilterError(message, "", node.position)
    return ExpressionNode(FieldValue(node.text), (node.position,), 1, node.position)


def _read_number(word: Word) -> ExpressionNode:
    """Returns the number that a word is: an int if it has digits only."""
    is_int = word.text.lstrip("+-").isdigit()
    value = int(word.text) if is_int and len(word.text) < 100 else float(word.text)
    if math.isinf(value):
        raise FilterError(f"{shorten_value(word.text)} is too large for a float", "", word.position)
    return ExpressionNode(Number(value), (word.position,), 1, word.position)
