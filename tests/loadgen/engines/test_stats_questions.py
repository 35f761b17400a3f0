"""The questions of `bench stats` have the same answers in each SQL engine, and a difference ends the experiment.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from watchfloor.loadgen.engines.peers.peer_process import SQL_PEERS, explain_missing, open_peers
from watchfloor.loadgen.experiments.stats.answers import SqlAsker
from watchfloor.loadgen.experiments.stats.compare_rows import ALLOWED_RANK, compare_rows
from watchfloor.loadgen.experiments.stats.questions import LIST, LISTED, AnswerKind, list_addresses, list_questions
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import InternalError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.type_check import read_typed_filter
from watchfloor.schema.filter.value_list import ValueList
from watchfloor.schema.source import Source
from watchfloor.schema.stats.type_check import read_stats

QUESTIONS = {question.name: question for question in list_questions(ALLOWED_RANK)}
EVENTS = 5000


@pytest.mark.parametrize("feed", dict.fromkeys(question.feed for question in QUESTIONS.values()))
def test_sql_engines_give_the_same_answers(feed: str, tmp_path: Path) -> None:
    if any(map(explain_missing, SQL_PEERS)):
        pytest.skip("DuckDB or chDB is not installed")
    path = tmp_path / "events.json"
    with path.open("wb") as out:
        generate_events(out, EVENTS, 3, source=feed)
    with open_peers(SQL_PEERS, feed) as (peers, _):
        assert [peer.load_file(path).rows for peer in peers] == [EVENTS, EVENTS]
        path.write_text("\n".join(list_addresses()))
        for peer in peers:
            peer.load_list(path)
        askers = [SqlAsker(peer, tmp_path) for peer in peers]
        for question in QUESTIONS.values():
            if question.feed == feed:
                answers = {asker.name: asker.ask_question(question, True).rows for asker in askers}
                assert answers["duckdb"], question.name
                for asker in askers:
                    compare_rows(question, answers, asker.find_bounds(question))


class Lists:
    """A catalog with the list of the questions."""

    def find_list(self, name: str) -> ValueList:
        assert name == LIST
        return ValueList(LIST, 1, FieldType.IP, LISTED, None)

    def find_source(self, name: str) -> Source:
        raise AssertionError(name)


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_fit_their_source(name: str) -> None:
    question = QUESTIONS[name]
    source = builtin_definitions()[question.feed]
    typed = read_stats(question.stats, source)
    read_typed_filter(question.where, source, catalog=Lists())
    assert len(typed.stats.keys) == question.keys and question.sql.keys() == set(SQL_PEERS)


def test_the_long_list_has_different_addresses() -> None:
    assert len(set(list_addresses())) == LISTED


MANY = 100_000
HOUR = datetime(2026, 1, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        ("bytes by source", [["10.0.0.1", 3]], [["10.0.0.1", Decimal(3)]]),
        ("many groups", [[None, 200, 1]], [["", 200, 1]]),
        ("timeline of a pattern", [["2026-01-01T05:00:00Z", 1]], [[int(HOUR.timestamp()), 1]]),
        ("timeline of a pattern", [[HOUR, 1]], [[HOUR.replace(tzinfo=None), 1]]),
        ("users by domain", [["a", MANY + 6000]], [["a", MANY]]),
        ("errors by domain", [["a", 1], ["b", 2]], [["b", 2], ["a", 1]]),
        ("longest connections", [["a", "b", 9, 1], ["a", "c", 7, 1]], [["a", "b", 9, 1], ["b", "c", 7, 1]]),
    ],
)
def test_equal_answers_pass(name: str, ours: list[list[Any]], theirs: list[list[Any]]) -> None:
    compare_rows(QUESTIONS[name], {"ours": ours, "theirs": theirs}, ())


@pytest.mark.parametrize(
    ("name", "ours", "said"),
    [
        ("errors by domain", [["a", 1]], r"1 groups: \('b',\) is missing"),
        ("errors by domain", [["a", 1], ["b", 1], ["c", 1]], r"\('c',\) is surplus"),
        ("errors by domain", [["a", 2], ["b", 1]], r"\('a',\) has \[2\], not \[1\]"),
        ("errors by domain", [["a", 1], ["a", 1], ["b", 1]], "3 rows has 2 groups"),
        ("top domains", [["b", 1], ["a", 1]], "the order is"),
        ("users by domain", [["a", 2], ["b", 1]], r"\('a',\) has \[2\], not \[1\]"),
    ],
)
def test_answers_that_differ_end_the_experiment(name: str, ours: list[list[Any]], said: str) -> None:
    with pytest.raises(InternalError, match=said):
        compare_rows(QUESTIONS[name], {"ours": ours, "theirs": [["a", 1], ["b", 1]]}, ())


def test_other_values_of_the_last_groups_end_the_experiment() -> None:
    answers = {"ours": [["a", "b", 9, 1]], "theirs": [["a", "b", 8, 1]]}
    with pytest.raises(InternalError, match=r"ours has the values \[\[9, 1\]\], not \[\[8, 1\]\]"):
        compare_rows(QUESTIONS["longest connections"], answers, ())


def test_estimates_outside_their_bounds_end_the_experiment() -> None:
    question = QUESTIONS["p95 of bytes by category"]
    assert question.kind is AnswerKind.QUANTILE
    compare_rows(question, {"ours": [["mail", 7.5]], "theirs": [["mail", 8]]}, [["mail", 7, 8]])
    with pytest.raises(InternalError, match=r"\('mail',\) has \[9\], not \[7, 8\]"):
        compare_rows(question, {"ours": [["mail", 9]], "theirs": [["mail", 8]]}, [["mail", 7, 8]])
    with pytest.raises(InternalError, match="106501"):
        rows = {"ours": [["a", MANY + 6501]], "theirs": [["a", MANY]]}
        compare_rows(QUESTIONS["users by domain"], rows, ())
