"""Folders, files and functions stay small enough to read: at most twelve loose files, 400 lines, 60 lines.

In `make test`: it only reads files.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("schema", "store", "planner", "ingest", "query", "api", "loadgen")
MOST_FILES, MOST_LINES, MOST_COLUMNS, MOST_FUNCTION_LINES, MOST_PARAMETERS = 12, 400, 120, 60, 7
BUILT = {"target", "__pycache__", "static"}


def files_of(*folders: str) -> list[Path]:
    """All files under these folders that belong to the project."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))]
    return [path for path in found if path.is_file() and not BUILT & set(path.parts) and path.suffix != ".pyc"]


CODE = [path for path in files_of(*ROOMS, "tests") if path.suffix in (".py", ".java", ".lark", ".sh", ".js", ".css")]
PYTHON = [path for path in CODE if path.suffix == ".py"]
JAVA = [path for path in CODE if path.suffix == ".java"]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_folder_has_more_loose_files_than_one_sees_at_once() -> None:
    loose = Counter(shown(path.parent) for path in files_of(*ROOMS, "tests", "docs"))
    assert {folder: count for folder, count in loose.items() if count > MOST_FILES} == {}


@pytest.mark.parametrize("path", CODE, ids=shown)
def test_no_file_is_too_long_to_read(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", [path for path in CODE if path.suffix == ".js"], ids=shown)
def test_lines_of_scripts_are_as_short_as_those_of_python(path: Path) -> None:
    assert [line for line in path.read_text("utf-8").splitlines() if len(line) > MOST_COLUMNS] == []


@pytest.mark.parametrize("path", PYTHON, ids=shown)
def test_functions_are_short_and_take_few_parameters(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno < MOST_FUNCTION_LINES, node.name
            # A test's parameters are its fixtures: pytest hands them in by name, nobody writes that call.
            if "tests" not in path.parts:
                assert len(parameters_of(node)) <= MOST_PARAMETERS, node.name


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = [argument.arg for argument in every]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


@pytest.mark.parametrize("path", JAVA, ids=shown)
def test_methods_are_short_and_take_few_parameters(path: Path) -> None:
    for name, parameters, lines in methods_of(path.read_text("utf-8")):
        assert lines <= MOST_FUNCTION_LINES, name
        assert parameters <= MOST_PARAMETERS, name


METHOD = re.compile(
    r"^((?:  ){1,4})(?=\S)(?:(?:public|private|protected|static|final|synchronized) )*(?:[\w<>\[\], ?]+ )?(\w+)\("
)
NO_METHODS = {"if", "for", "while", "switch", "catch", "return", "new", "try", "synchronized"}


def methods_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, number of parameters and number of lines of each method and constructor that has a body.

    Relies on the indentation of two spaces that Java files of this project have. Records are values and no methods.
    """
    lines = text.splitlines()
    for start, line in enumerate(lines):
        found = METHOD.match(line)
        if found is None or found[2] in NO_METHODS or " record " in line or line.startswith(f"{found[1]}return "):
            continue
        if line.startswith(f"{found[1]}{found[2]}(") and found[2][0].islower():
            continue  # a call: only constructors have no type before their name
        head = " ".join(lines[start : start + 16])
        end = next((n for n in range(start, len(lines)) if lines[n] == f"{found[1]}}}"), None)
        if end is not None and re.match(r"[^;{]*\{", head):
            parameters = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", head.split(")")[0].split("(", 1)[1])).strip()
            yield found[2], parameters.count(",") + bool(parameters), end - start + 1
