"""Asks drawn filters in every scheme and compares the events with those that plain Python finds.

The fixtures are for the tests that are quick and for those at length: ``tests/conftest.py`` hands them to both.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from drawn_expressions import OPERATORS, parts_of
from drawn_filters import (
    condition,
    conditions_of,
    expressions,
    filters,
    leaves,
    operator_of,
    operators_of,
    pools_of,
    shapes,
    values_of,
)
from hypothesis import given, note, seed, settings
from hypothesis import strategies as st
from loaded import LAYOUTS, Loaded, in_layout, numbered, parse
from mixed_events import SCALARS, mixed
from oracle import Rows
from query_strategies import QUERY_BATCHINGS, QUERY_PROFILE

from watchfloor.query.batches.settings import BatchSettings
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.expressions.functions import FUNCTIONS
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.tree import ExpressionCompare, ExpressionTest, Filter
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIXED_EVENTS = 1_200
REAL = ("conn", "dns", "http")
EXPRESSIONS = "expressions"
TYPES = tuple(f"{kind}{scalar}" for scalar in SCALARS for kind in ("", "list of "))
FILTERS_AT_ONCE = 4

# ``auto`` and two others, each with a batching of its own.
schemes = st.permutations(SCHEMES[1:]).map(lambda others: (SCHEMES[0], *others[:2]))
runs = st.tuples(schemes, st.tuples(QUERY_BATCHINGS, QUERY_BATCHINGS, QUERY_BATCHINGS)).map(
    lambda two: list(zip(*two, strict=True))
)


@dataclass(frozen=True)
class StoredSource:
    """A source, and its events as plain Python has them."""

    loaded: Loaded
    rows: Rows
    table: pa.Table
    times: np.ndarray

    @classmethod
    def of(cls, loaded: Loaded) -> StoredSource:
        names = [field.name for field in loaded.source.fields]
        times = np.array([micros(event["ts"]) for event in loaded.events])
        table = pa.Table.from_batches([loaded.batch]).select(names)
        addresses = {field.name for field in loaded.source.fields if field.scalar is FieldType.IP}
        return cls(loaded, Rows(names, loaded.events, addresses), table, times)


class QuestionLog:
    """Counts what the tests of a process have asked."""

    def __init__(self) -> None:
        self.tests: set[tuple[str, str]] = set()
        self.filters: set[str] = set()
        self.conditions: Counter[tuple[str, str, str]] = Counter()
        self.parts: set[tuple[str, str]] = set()
        """By layout the functions and operators of expressions."""
        self.queries = 0


question_log = QuestionLog()


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


class StackQuestions:
    """The sources that are asked on one stack, and what is drawn for them. Each is made once, when it is needed.

    To write the sources, and to make strategies over hundreds of values, takes as long as the questions of a test.
    """

    def __init__(self, settings: Settings, data_dir: Path) -> None:
        self._settings, self._data_dir = settings, data_dir

    @cached_property
    def stored(self) -> dict[str, dict[str, StoredSource]]:
        """By layout and kind: Zeek's conn, dns and http of one office, and events of all types."""
        kinds = _read_kinds(self._data_dir)
        with Store.open(self._settings) as store:
            return {
                name: {
                    kind: replace(known, loaded=in_layout(store, known.loaded, name)) for kind, known in kinds.items()
                }
                for name in LAYOUTS
            }

    @cached_property
    def pools(self) -> dict[str, dict[str, list[Any]]]:
        """Values to ask for, by kind and field."""
        return {kind: pools_of(known.loaded.source, known.loaded.events) for kind, known in self.stored["cell"].items()}

    @cached_property
    def strategies(self) -> dict[str, st.SearchStrategy[Any]]:
        """By kind of real log filters of any shape; by type of field a condition of each operator, within such shapes.

        And expressions, by their own name.
        """
        made: dict[str, st.SearchStrategy[Any]] = {}
        for kind in REAL:
            one = filters(self.stored["cell"][kind].loaded.source, self.pools[kind])
            made[kind] = st.lists(one, min_size=FILTERS_AT_ONCE, max_size=FILTERS_AT_ONCE)
        mixed_source, values = self.stored["cell"]["mixed"].loaded.source, self.pools["mixed"]
        fields = mixed_source.fields
        # Two to one for fields with an index: what a planner makes of several conditions is about those.
        indexed = (field for field in fields if field.is_indexed)
        others = st.one_of([leaves(field, values[field.name]) for field in (*fields, *indexed)])
        for name in TYPES:
            made[name] = _of_each_operator([field for field in fields if field.type_name == name], values, others)
        made[EXPRESSIONS] = st.tuples(*(shapes(one, others) for one in expressions(mixed_source, values).values()))
        return made


@cache
def _read_kinds(data_dir: Path) -> dict[str, StoredSource]:
    logs = {kind: numbered(parse(data_dir / "zeek" / "brobeat" / f"{kind}.log")[0]) for kind in REAL}
    return {kind: StoredSource.of(loaded) for kind, loaded in {**logs, "mixed": mixed(MIXED_EVENTS)}.items()}


_questions: dict[Path, StackQuestions] = {}
"""By the folder of the stack. Files with such questions come one after the other (``tests/conftest.py``)."""


@pytest.fixture(scope="module")
def stack_questions(store_settings: Settings, data_dir: Path) -> StackQuestions:
    return _questions.setdefault(store_settings.home, StackQuestions(store_settings, data_dir))


@pytest.fixture(scope="module")
def stored(stack_questions: StackQuestions) -> dict[str, dict[str, StoredSource]]:
    return stack_questions.stored


@pytest.fixture(scope="module")
def pools(stack_questions: StackQuestions) -> dict[str, dict[str, list[Any]]]:
    return stack_questions.pools


@pytest.fixture(scope="module")
def strategies(stack_questions: StackQuestions) -> dict[str, st.SearchStrategy[Any]]:
    return stack_questions.strategies


def _of_each_operator(
    fields: Sequence[Field], pools: dict[str, list[Any]], others: st.SearchStrategy[Filter]
) -> st.SearchStrategy[Any]:
    each = []
    for operator in operators_of(fields[0].scalar):
        of_any = st.one_of([condition(f, operator, values_of(f.scalar, pools[f.name])) for f in fields])
        each.append(shapes(of_any, others))
    return st.tuples(*each)


def check_many(
    layout: str,
    kind: str,
    name: str,
    examples: int,
    stored: dict[str, dict[str, StoredSource]],
    strategies: dict[str, st.SearchStrategy[Any]],
    query_store: Store,
) -> None:
    """Draws lists of filters, as many as ``examples``, and asks each of them of one source in one layout."""
    known, service = stored[layout][kind], QueryService(query_store)
    names = [field.name for field in known.loaded.source.fields if field.name not in ("ts", "number")]
    moments = st.integers(int(known.times[-1]) - 1, int(known.times[0]) + 2) | st.sampled_from(known.times.tolist())
    spans = st.none() | st.tuples(moments, moments).filter(lambda two: two[0] != two[1]).map(sorted)
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)

    @given(data=st.data())
    @settings(QUERY_PROFILE, max_examples=examples)
    def ask(data: st.DataObject) -> None:
        for tree in data.draw(strategies[name], label="filters"):
            columns = ("ts", "number", *data.draw(some, label="columns"))
            span = data.draw(spans, label="range")
            check(layout, known, tree, data.draw(runs, label="runs"), span, columns, service)

    # Where the same examples come again in every run, they are not the same ones in each test.
    (seed(zlib.crc32(f"{layout} {name}".encode()))(ask) if settings.default.derandomize else ask)()
    question_log.tests.add((layout, name))


def check(
    layout: str,
    known: StoredSource,
    tree: Filter,
    schemes: Sequence[tuple[str, BatchSettings]],
    span: Sequence[int] | None,
    columns: tuple[str, ...],
    service: QueryService,
) -> None:
    """Asks one filter in several ways; each gives the events that plain Python finds, newest first."""
    source = known.loaded.source
    since, until = span or (None, None)
    wanted = known.rows.holding(tree)
    if span is not None:
        wanted &= (known.times >= since) & (known.times < until)
    first: np.ndarray | None = None
    for scheme, batching in schemes:
        request = QueryRequest(source.name, since, until, to_json(tree), columns, scheme=scheme, batching=batching)
        result = service.run(request)
        table = pa.Table.from_batches(result, result.schema)
        note(result.plan.to_text())
        assert result.summary["status"] == "complete" and result.summary["rows"] == len(table)
        found = table.column("number").to_numpy()
        missing, surplus = np.setdiff1d(np.flatnonzero(wanted), found), found[~wanted[found]]
        assert not len(missing) and not len(surplus), (
            f"{scheme}, {tree}: {len(missing)} missing, as {shown(known, missing)}; "
            f"{len(surplus)} surplus, as {shown(known, surplus)}"
        )
        assert len(found) == wanted.sum(), f"{scheme}, {tree}: some events come twice"
        assert table.equals(known.table.take(pa.array(found)).select(columns).cast(table.schema))
        assert (np.diff(known.times[found]) <= 0).all(), f"{scheme}: not newest first"
        assert first is None or (found == first).all(), f"{scheme}, {tree}: another order than {schemes[0][0]} gives"
        first = found
        question_log.queries += 1
    question_log.filters.add(json.dumps(to_json(tree)))
    for leaf in conditions_of(tree):
        if isinstance(leaf, (ExpressionTest, ExpressionCompare)):
            question_log.parts.update((layout, part) for part in parts_of(leaf))
        else:
            question_log.conditions[layout, operator_of(leaf), source.find_field(leaf.field).type_name] += 1


def shown(known: StoredSource, numbers: np.ndarray) -> dict[str, Any] | None:
    return known.loaded.events[int(numbers[0])] if len(numbers) else None


def check_that_enough_was_asked(filters: int) -> None:
    """Fails unless so many distinct filters were asked, in each layout with every operator of every type of field, and
    with every function and operator of expressions."""
    if question_log.tests != {(layout, name) for layout in LAYOUTS for name in (*TYPES, EXPRESSIONS, *REAL)}:
        pytest.skip("only a part of this file was run")
    assert len(question_log.filters) >= filters
    assert question_log.queries >= 3 * filters
    pairs = {
        (layout, operator, name)
        for layout in LAYOUTS
        for name in TYPES
        for operator in operators_of(FieldType(name.removeprefix("list of ")))
    }
    assert not pairs - set(question_log.conditions)
    assert question_log.parts >= {(layout, part) for layout in LAYOUTS for part in (*FUNCTIONS, *OPERATORS)}
