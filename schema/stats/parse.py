"""Parses the text of stats into an untyped tree.

``grammar.lark`` defines the language, together with the grammar of filters. The tree has no positions in the text.
They are returned beside it, so that ``type_check`` can place its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from lark import Lark, Token, UnexpectedInput, v_args

from watchfloor.schema.errors import FilterError, suggest_names
from watchfloor.schema.filter.expressions.parse import ExpressionNode, Word
from watchfloor.schema.filter.parse import (
    ConditionPlace,
    FilterBuilder,
    FilterNode,
    check_places,
    load_grammar,
)
from watchfloor.schema.filter.syntax.syntax_errors import Hint, make_syntax_error
from watchfloor.schema.text import shorten_value

from . import names
from . import tree as s
from .syntax import HINTS, SORT_HINTS, TERMINAL_NAMES

_SHORT_FORMS = ("count_if", "median", "p95")
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class PartPlace:
    """The 0-based position in the text of a part's field or column, else of the part, and the places of its filter."""

    position: int
    conditions: tuple[ConditionPlace, ...] = ()


@dataclass(frozen=True)
class ParsedStats:
    """An untyped tree and the places of its parts; a stage has one place, a sort one for each column.

    Stats that were read from no text have no places.
    """

    tree: s.Stats
    aggregates: tuple[PartPlace, ...] = ()
    keys: tuple[PartPlace, ...] = ()
    stages: tuple[tuple[PartPlace, ...], ...] = ()


def parse_stats(text: str) -> s.Stats:
    """Returns the untyped tree of a text. Raises ``FilterError``, which shows the place and names what was expected."""
    return parse_stats_with_places(text).tree


def parse_stats_with_places(text: str) -> ParsedStats:
    """Returns the untyped tree of a text and the places of its parts; raises ``FilterError``."""
    if len(text) > names.MAX_LENGTH:
        message = f"the stats have {len(text):,} characters; at most {names.MAX_LENGTH:,} are allowed"
        raise FilterError(message, text, names.MAX_LENGTH)
    if not text.strip():
        raise FilterError("the stats are empty; a function was expected, such as count()", text, len(text))
    parsed: ParsedStats = _parse_as("pipeline", text, HINTS)
    parts = [*parsed.aggregates, *(place for stage in parsed.stages for place in stage)]
    check_places([condition for part in parts for condition in part.conditions], text)
    return parsed


def parse_sort(text: str) -> tuple[s.Sort, str, tuple[PartPlace, ...]]:
    """Returns the untyped tree of the text of a ``sort``, without that word, the text, and the place of each order.

    Raises ``FilterError``, which shows the place and names what was expected.
    """
    if len(text) > names.MAX_LENGTH:
        message = f"the sort has {len(text):,} characters; at most {names.MAX_LENGTH:,} are allowed"
        raise FilterError(message, text, names.MAX_LENGTH)
    if not text.strip():
        raise FilterError("the sort is empty; a field was expected, such as -bytes", text, len(text))
    stage: _Stage = _parse_as("sort", text, SORT_HINTS)
    assert isinstance(stage.stage, tuple), "a sort has columns"
    for column in stage.stage:
        if not isinstance(column.column, str):
            message = "events are sorted by fields; a function is for the sort of stats"
            raise FilterError(message, text, column.position)
    tree, places = _resolve_stage(stage, ())
    assert isinstance(tree, s.Sort)
    return tree, text, places


def _parse_as(start: str, text: str, hints: Sequence[Hint]) -> Any:
    """Returns what the rule ``start`` of the grammar builds of a text; raises ``FilterError``."""
    parser = _load_parser().parse_interactive(text, start=start)
    try:
        parser.exhaust_lexer()
        return parser.feed_eof()
    except UnexpectedInput as error:
        # Nothing is left to accept once the whole rule has been read.
        accepted = parser.accepts() or {"$END"}
        raise make_syntax_error(text, error, accepted, TERMINAL_NAMES, hints) from None
    except FilterError as error:
        raise FilterError(error.message, text, error.position) from None


@dataclass(frozen=True)
class _Part:
    """An aggregate or a key while the tree is built. ``start`` is the position of its name, or else its own."""

    part: s.Aggregate | s.Key
    place: PartPlace
    start: int


@dataclass(frozen=True)
class _Column:
    """A column to sort by: its name, or what it computes."""

    column: str | s.Aggregate
    descending: bool
    position: int


@dataclass(frozen=True)
class _Stage:
    """A stage while the tree is built; the columns of a sort may be written as functions."""

    stage: s.Stage | tuple[_Column, ...]
    position: int
    places: tuple[PartPlace, ...] = ()


@dataclass(frozen=True)
class _Head:
    """The aggregates and keys before the first stage, with the stages that a short form stands for."""

    aggregates: tuple[_Part, ...]
    keys: tuple[_Part, ...]
    stages: tuple[_Stage, ...] = ()


@v_args(inline=True)
class StatsBuilder(FilterBuilder):
    """Builds the parts of stats while the text is parsed; its base builds the filters in them."""

    def pipeline(self, head: _Head, *stages: _Stage) -> ParsedStats:
        columns = (*head.aggregates, *head.keys)
        index = names.find_repeated(column.part.name for column in columns)
        if index is not None:
            raise FilterError(names.describe_repeated(columns[index].part.name), "", columns[index].start)
        _check_number([stage.position for stage in stages], names.MAX_STAGES, "stages")
        aggregates = tuple(part.part for part in head.aggregates if isinstance(part.part, s.Aggregate))
        every = [_resolve_stage(stage, aggregates) for stage in (*head.stages, *stages)]
        keys = tuple(part.part for part in head.keys if not isinstance(part.part, s.Aggregate))
        tree = s.Stats(aggregates, keys, tuple(stage for stage, _ in every))
        return ParsedStats(
            tree,
            tuple(part.place for part in head.aggregates),
            tuple(part.place for part in head.keys),
            tuple(places for _, places in every),
        )

    def group_events(self, aggregates: tuple[_Part, ...], keys: tuple[_Part, ...] = ()) -> _Head:
        return _Head(aggregates, keys)

    def make_top(self, rows: Token, keys: tuple[_Part, ...]) -> _Head:
        return self.count_values(rows, keys, True)

    def make_rare(self, rows: Token, keys: tuple[_Part, ...]) -> _Head:
        return self.count_values(rows, keys, False)

    def count_values(self, rows: Token, keys: tuple[_Part, ...], descending: bool) -> _Head:
        """Returns the head of ``count() by KEYS | sort count | limit ROWS``."""
        position = rows.start_pos or 0
        sort = _Stage((_Column("count", descending, position),), position)
        return _Head((_make_count(position),), keys, (sort, self.limit_rows(rows)))

    def make_timeline(self, width: Token) -> _Head:
        position = width.start_pos or 0
        sort = _Stage((_Column("bucket", False, position),), position)
        return _Head((_make_count(position),), (self.key_bucket(width, width),), (sort,))

    def aggregates(self, *parts: _Part) -> tuple[_Part, ...]:
        _check_number([part.place.position for part in parts], names.MAX_AGGREGATES, "aggregates")
        return parts

    def aggregate(self, part: _Part, name: Word | None = None) -> _Part:
        return _name_part(part, name)

    def apply_function(self, name: Token, node: ExpressionNode) -> ExpressionNode:
        if name.lower() in names.FUNCTIONS:
            reason = "a filter has a column's name, such as sum_bytes for sum(bytes)"
            raise FilterError(reason, "", name.start_pos or 0)
        return super().apply_function(name, node)

    def call_filter(self, function: Token, node: FilterNode) -> _Part:
        position = function.start_pos or 0
        return _Part(s.Aggregate("count", "count_if", where=node.tree), PartPlace(position, node.places), position)

    def call_function(self, token: Token, field: Word | None = None, share: Token | None = None) -> _Part:
        position, function = token.start_pos or 0, token.lower()
        name = field.text if field else None
        percent = 0.5 if function == "median" else names.parse_percent(function)
        if percent is None and function not in names.FUNCTIONS:
            known = suggest_names(function[:100], (*names.FUNCTIONS, *_SHORT_FORMS))
            raise FilterError(f"unknown function {shorten_value(str(token))}{known}", "", position)
        if field is None and function != "count":
            raise FilterError(f"{function} takes a field, as in {function}(bytes)", "", position)
        if (function == "quantile") != (share is not None):
            reason = "takes a field and a share" if function == "quantile" else "takes one field only"
            at = position if share is None else share.start_pos or 0
            raise FilterError(f"{function} {reason}; a quantile is written quantile(bytes, 0.95)", "", at)
        if share is not None:
            percent = _convert(share, names.convert_share)
        column = f"median_{name}" if function == "median" else None
        function = function if percent is None else "quantile"
        column = column or names.name_aggregate(function, name, percent)
        place = PartPlace(field.position if field else position)
        return _Part(s.Aggregate(function, column, name, share=percent), place, position)

    def keys(self, *parts: _Part) -> tuple[_Part, ...]:
        _check_number([part.place.position for part in parts], names.MAX_KEYS, "keys")
        return parts

    def key(self, part: _Part, name: Word | None = None) -> _Part:
        return _name_part(part, name)

    def key_field(self, field: Word) -> _Part:
        return _Part(s.FieldKey(field.text, field.text), PartPlace(field.position), field.position)

    def key_bucket(self, function: Token, width: Token) -> _Part:
        position = function.start_pos or 0
        return _Part(s.BucketKey("bucket", _convert(width, names.convert_width)), PartPlace(position), position)

    def key_prefix(self, function: Token, field: Word, bits: Token, bits6: Token | None = None) -> _Part:
        key = s.PrefixKey(
            f"prefix_{field.text}",
            field.text,
            _convert(bits, lambda word: names.convert_number(word, 0, names.MAX_BITS)),
            names.DEFAULT_BITS6
            if bits6 is None
            else _convert(bits6, lambda word: names.convert_number(word, 0, names.MAX_BITS6)),
        )
        return _Part(key, PartPlace(field.position), function.start_pos or 0)

    def sort(self, *columns: _Column) -> _Stage:
        return _Stage(columns, columns[0].position)

    def limit_rows(self, rows: Token) -> _Stage:
        number = _convert(rows, lambda word: names.convert_number(word, 1, names.MAX_ROWS))
        position = rows.start_pos or 0
        return _Stage(s.Limit(number), position, (PartPlace(position),))

    def keep_rows(self, node: FilterNode) -> _Stage:
        return _Stage(s.Having(node.tree), node.position, (PartPlace(node.position, node.places),))

    def order(self, *parts: Token | Word | _Part) -> _Column:
        column = parts[-1]
        descending = len(parts) > 1
        if isinstance(column, _Part):
            assert isinstance(column.part, s.Aggregate), "a call is an aggregate"
            return _Column(column.part, descending, column.start)
        assert isinstance(column, Word), "the dash stands before the column"
        return _Column(column.text, descending, column.position)

    def column(self, token: Token) -> Word:
        return self.field(token)


def _make_count(position: int) -> _Part:
    """Returns the ``count()`` of a short form."""
    return _Part(s.Aggregate("count", "count"), PartPlace(position), position)


def _name_part(part: _Part, name: Word | None) -> _Part:
    """Returns a part with the name that the text gives it; raises ``FilterError`` if its name is none."""
    start = part.start if name is None else name.position
    if name is not None:
        part = _Part(replace(part.part, name=name.text), part.place, start)
    try:
        names.check_name(part.part.name)
    except ValueError as error:
        raise FilterError(str(error), "", start) from None
    return part


def _resolve_stage(stage: _Stage, aggregates: tuple[s.Aggregate, ...]) -> tuple[s.Stage, tuple[PartPlace, ...]]:
    """Returns a stage and its places; columns that are written as functions become the names of those aggregates."""
    if not isinstance(stage.stage, tuple):
        return stage.stage, stage.places
    orders = tuple(s.Order(_resolve_column(column, aggregates), column.descending) for column in stage.stage)
    return s.Sort(orders), tuple(PartPlace(column.position) for column in stage.stage)


def _resolve_column(column: _Column, aggregates: tuple[s.Aggregate, ...]) -> str:
    """Returns the name of a column to sort by; raises ``FilterError`` if it is a function that no aggregate is."""
    wanted = column.column
    if isinstance(wanted, str):
        return wanted
    for aggregate in aggregates:
        if replace(aggregate, name=wanted.name) == wanted:
            return aggregate.name
    known = suggest_names(wanted.name, [aggregate.name for aggregate in aggregates])
    raise FilterError(
        f"rows are sorted by a column of the answer, and none of them is this{known}", "", column.position
    )


def _convert(token: Token, convert: Callable[[str], _Value]) -> _Value:
    """Returns a converted word; raises ``FilterError`` at its place if it does not fit."""
    try:
        return convert(str(token))
    except ValueError as error:
        raise FilterError(str(error), "", token.start_pos or 0) from None


def _check_number(positions: Sequence[int], most: int, parts: str) -> None:
    """Raises ``FilterError`` at the first of too many parts."""
    if len(positions) > most:
        raise FilterError(f"the stats have {len(positions):,} {parts}; at most {most} fit", "", positions[most])


@cache
def _load_parser() -> Lark:
    """Returns the parser of both grammars, which builds the tree while it parses."""
    grammar = f"{load_grammar()}\n{(files(__package__) / 'grammar.lark').read_text('utf-8')}"
    return Lark(
        grammar,
        start=["pipeline", "sort"],
        parser="lalr",
        lexer="contextual",
        transformer=StatsBuilder(),
        maybe_placeholders=False,
    )
