"""Rooms and folders import in one direction, files have bounded sizes, and every package is installed.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "schema": set(),
    "store": {"schema"},
    "planner": {"schema"},
    "ingest": {"schema", "store"},
    "query": {"schema", "store", "planner"},
    "api": {"schema", "store", "planner", "ingest", "query"},
    "loadgen": {"schema", "store", "planner", "ingest", "query", "api"},
}
FILES = [path for room in MAY_IMPORT for path in sorted((ROOT / room).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it, by their full names."""
    names: set[str] = set()
    package = ["watchfloor", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    rooms = {name.split(".")[1] for name in imported(path) if name.startswith("watchfloor.")}
    wrong = rooms & set(MAY_IMPORT) - {room} - MAY_IMPORT[room]
    assert not wrong, f"{room} must not import {wrong}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_store_knows_the_jvm(path: Path) -> None:
    if path.relative_to(ROOT).parts[0] != "store":
        assert not {name for name in imported(path) if name.split(".")[0] == "jpype"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_is_too_long_to_read(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500


def test_language_planner_and_batching_start_no_jvm() -> None:
    code = (
        "import sys, watchfloor.schema.filter.parse, watchfloor.schema.filter.type_check, "
        "watchfloor.query.batches.sequence, "
        "watchfloor.planner.planner; sys.exit('jpype' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_package_is_installed() -> None:
    code = "import setuptools; from distutils.core import run_setup as run; "
    code += "print(*run('setup.py', stop_after='init').packages)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(listed) == {".".join(("watchfloor", *path.parent.relative_to(ROOT).parts)) for path in FILES}


JAVA = ROOT / "store" / "java" / "src" / "main" / "java" / "watchfloor"
LAYOUTS = {"block", "cell"}
# What chooses a layout, and what is the block layout's by its nature: compaction, the encodings that are compared.
KNOW_LAYOUTS = {
    "store/layouts/registry.py",
    "ingest/maintenance/compact.py",
    "loadgen/experiments/encodings/run.py",
}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_serves_one_layout_stands_in_its_folder(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    allowed = LAYOUTS if name in KNOW_LAYOUTS else set(path.parts) & LAYOUTS
    known = {
        layout
        for layout in LAYOUTS
        if any(f"{n}.".startswith(f"watchfloor.store.layouts.{layout}.") for n in imported(path))
    }
    assert known <= allowed


@pytest.mark.parametrize("path", sorted(JAVA.rglob("*.java")), ids=lambda p: p.stem)
def test_what_serves_one_layout_stands_in_its_package(path: Path) -> None:
    known = {layout for layout in LAYOUTS if f"watchfloor.{layout}." in path.read_text()}
    assert known <= set(path.parts) & LAYOUTS
