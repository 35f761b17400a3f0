"""Functions are named by verb and object, a public class name has one meaning, and a docstring is a statement.

In `make test`: it only reads files.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("schema", "store", "planner", "ingest", "query", "api", "loadgen")
FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
MOST_ONE_WORD = 0.45
QUESTION_WORDS = {"who", "what", "whether", "where", "when", "how", "which", "whose", "why"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def nodes_of(*files: Path) -> Iterator[tuple[Path, ast.AST]]:
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            yield file, node


@pytest.mark.parametrize("room", ROOMS)
def test_functions_are_named_by_verb_and_object(room: str) -> None:
    names = [node.name for _, node in nodes_of(*sorted((ROOT / room).rglob("*.py"))) if isinstance(node, Function)]
    one_word = [name for name in names if "_" not in name.strip("_")]
    assert len(one_word) / len(names) < MOST_ONE_WORD, Counter(one_word).most_common(30)


def test_a_public_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for file, node in nodes_of(*FILES):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            places[node.name].append(str(file.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_docstrings_are_statements(file: Path) -> None:
    for _, node in nodes_of(file):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            words = (ast.get_docstring(node) or "It").split()
            assert words[0].strip(",.:;").lower() not in QUESTION_WORDS, " ".join(words[:12])
