"""Each test file says whether `make test` or `make soak` runs it, and why.

In `make test`: it only reads files.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("test_*.py"))
LEFT = [line for line in (TESTS / "left_to_soak.txt").read_text("utf-8").splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_test_file_names_its_suite_and_the_reason(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    named = re.findall(r"^In `make (test|soak)`: \S+", ast.get_docstring(tree) or "", re.MULTILINE)
    assert named == ["soak" if is_soak(tree) else "test"]


def is_soak(tree: ast.Module) -> bool:
    """Returns whether a file is marked as a whole. No single test is: a file is in one suite."""
    marks = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "soak"]
    whole = [
        mark
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for mark in marks
        if mark in list(ast.walk(node))
    ]
    assert whole == marks
    return bool(marks)


@pytest.mark.parametrize("left", LEFT)
def test_what_continuous_integration_leaves_out_is_there(left: str) -> None:
    path, _, test = left.partition("::")
    tree = ast.parse((TESTS.parent / path).read_text("utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not test or test.partition("[")[0] in names
