"""Imports go one way between rooms, folders and files, also imports in functions and imports for types only.

In `make test`: it only reads files.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS: Mapping[str, tuple[str, ...]] = {
    "schema": (),
    "store": ("schema",),
    "planner": ("schema",),
    "ingest": ("schema", "store"),
    "query": ("schema", "store", "planner"),
    "api": ("schema", "store", "planner", "ingest", "query"),
    "loadgen": ("schema", "store", "planner", "ingest", "query", "api"),
}
"""Each room, and the rooms that it may import."""
FOLDERS: Mapping[str, tuple[str, ...]] = {
    "schema": (
        "schema/meaning",
        "schema",
        "schema/visibility",
        "schema/files",
        "schema/filter/syntax",
        "schema/filter/expressions",
        "schema/filter",
        "schema/filter/sigma",
        "schema/filter/sigma/correlations",
        "schema/lists",
        "schema/stats",
        "schema/settings",
    ),
    "store": (
        "store/encoding",
        "store/stats",
        "store/sorting",
        "store/runtime",
        "store/bridge",
        "store/layouts/block/vectors",
        "store/stack/home",
        "store/stack/accounts",
        "store/stack/security",
        "store/stack/hdfs",
        "store/stack/servers",
        "store/stack/supervision",
        "store/stack",
        "store/admin",
        "store",
        "store/retention",
        "store/saved",
        "store/bulk",
        "store/index",
        "store/sightings",
        "store/layouts/block/blocks",
        "store/layouts/cell",
        "store/layouts/block/epochs",
        "store/layouts/block/compaction",
        "store/layouts/block",
        "store/layouts",
        "store/backup",
        "store/workloads",
    ),
    "planner": (
        "planner/access",
        "planner/rules",
        "planner",
    ),
    "ingest": (
        "ingest",
        "ingest/queue",
        "ingest/files/compressions",
        "ingest/files/archives",
        "ingest/files/containers",
        "ingest/files/remote",
        "ingest/files",
        "ingest/columns",
        "ingest/metrics",
        "ingest/records",
        "ingest/parsing",
        "ingest/mapping",
        "ingest/formats/access_log",
        "ingest/formats/delimited",
        "ingest/formats/elff",
        "ingest/formats/syslog",
        "ingest/formats/text",
        "ingest/formats/json",
        "ingest/formats/eve",
        "ingest/formats/windows",
        "ingest/formats/zeek",
        "ingest/formats",
        "ingest/identity",
        "ingest/reading",
        "ingest/maintenance",
        "ingest/backup",
        "ingest/worker",
        "ingest/intake",
        "ingest/standing",
        "ingest/authoring",
    ),
    "query": (
        "query/texts",
        "query/batches",
        "query/preparation",
        "query/many",
        "query/stats",
        "query/sorting",
        "query/finding",
        "query",
        "query/rules/correlations",
        "query/rules",
        "query/rules/alerts",
    ),
    "api": (
        "api",
        "api/tokens",
        "api/formats",
        "api/records",
        "api/cli/terminal",
        "api/cli/reading",
        "api/cli/definitions",
        "api/client",
        "api/rest/base",
        "api/rest/answers",
        "api/rest/openapi",
        "api/rest/routes/operations",
        "api/rest/routes/queries",
        "api/rest/routes",
        "api/rest/warming",
        "api/rest/local",
        "api/rest",
        "api/cli/sigma",
        "api/cli/backup",
        "api/cli/commands",
        "api/cli",
    ),
    "loadgen": (
        "loadgen",
        "loadgen/published",
        "loadgen/generator/feeds",
        "loadgen/generator/synthesis",
        "loadgen/harness/measurement",
        "loadgen/generator/feeds/auth",
        "loadgen/generator/feeds/dns",
        "loadgen/generator/feeds/netflow",
        "loadgen/generator/feeds/proxy",
        "loadgen/harness/plots",
        "loadgen/generator",
        "loadgen/generator/streams",
        "loadgen/harness",
        "loadgen/calibration",
        "loadgen/continuous",
        "loadgen/lookups",
        "loadgen/demo",
        "loadgen/engines",
        "loadgen/ycsb",
        "loadgen/experiments/backup",
        "loadgen/experiments/batching",
        "loadgen/experiments/cancel",
        "loadgen/experiments/chaos/written",
        "loadgen/experiments/chaos/answers",
        "loadgen/experiments/chaos/faults",
        "loadgen/experiments/chaos",
        "loadgen/experiments/ceiling",
        "loadgen/experiments/continuous",
        "loadgen/experiments/continuous_chaos",
        "loadgen/experiments/crossover",
        "loadgen/experiments/export",
        "loadgen/experiments/find",
        "loadgen/experiments/first_result",
        "loadgen/experiments/formats",
        "loadgen/experiments/generator",
        "loadgen/experiments/hunt",
        "loadgen/experiments/lookups",
        "loadgen/experiments/memory",
        "loadgen/experiments/readers",
        "loadgen/experiments/rest_load",
        "loadgen/experiments/ycsb",
        "loadgen/harness/ingest",
        "loadgen/model/simulation",
        "loadgen/model",
        "loadgen/experiments/model",
        "loadgen/engines/search",
        "loadgen/engines/sql",
        "loadgen/experiments/encodings",
        "loadgen/experiments/ingest",
        "loadgen/experiments/responsiveness",
        "loadgen/engines/peers",
        "loadgen/experiments/peers",
        "loadgen/experiments/page",
        "loadgen/experiments/blocks",
        "loadgen/experiments/load",
        "loadgen/experiments/security",
        "loadgen/experiments/durability",
        "loadgen/experiments/erasure",
        "loadgen/experiments/stats",
        "loadgen/experiments",
        "loadgen/report/studies",
        "loadgen/report",
        "loadgen/suite",
        "loadgen/commands",
    ),
}
"""The folders of each room from the ground up: a folder may import those before it in its room, and none after it.

What looks into a folder and loads what it finds there stands after that folder.
"""
FILES = [path.relative_to(ROOT) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
JAVA = ROOT / "store/java/src/main/java/watchfloor"
LAYOUTS = {"block", "cell"}
KNOW_LAYOUTS = {
    Path("store/layouts/registry.py"),
    Path("store/layouts/held_sources.py"),
    Path("ingest/maintenance/compact.py"),
    Path("loadgen/experiments/encodings/run.py"),
}
"""What chooses a layout, and what is of blocks by its nature: compaction, and the comparison of their encodings."""


def module_of(file: Path) -> str:
    return ".".join(("watchfloor", *file.with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module_of(file): file for file in FILES}


def names_imported(file: Path) -> Iterator[str]:
    """Full names of what a file imports, wherever in the file the import stands."""
    package = ["watchfloor", *file.parent.parts]
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


@cache
def files_imported(file: Path) -> set[Path]:
    """Files of the project that a file imports: a module, or the module that a name comes from."""
    found = set()
    for name in names_imported(file):
        known = MODULES.get(name) or MODULES.get(name.rpartition(".")[0])
        if known is not None and known != file:
            found.add(known)
    return found


@pytest.mark.parametrize("file", FILES, ids=str)
def test_rooms_import_one_way(file: Path) -> None:
    room = file.parts[0]
    others = {imported.parts[0] for imported in files_imported(file)} - {room}
    assert others <= set(ROOMS[room])


@pytest.mark.parametrize("file", FILES, ids=str)
def test_folders_import_one_way(file: Path) -> None:
    room, folder = file.parts[0], str(file.parent)
    order = FOLDERS[room]
    allowed = set(order[: order.index(folder) + 1])
    imported = {str(other.parent) for other in files_imported(file) if other.parts[0] == room}
    assert imported <= allowed, f"{folder} must not import {imported - allowed}"


def test_the_table_of_folders_is_whole() -> None:
    for room, order in FOLDERS.items():
        assert sorted(order) == sorted({str(file.parent) for file in FILES if file.parts[0] == room})


def test_no_files_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter({file: files_imported(file) for file in FILES}).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(map(str, error.args[1])))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_only_the_store_imports_jpype(file: Path) -> None:
    assert file.parts[0] == "store" or not {name for name in names_imported(file) if name.split(".")[0] == "jpype"}


def test_language_planner_and_batching_start_no_jvm() -> None:
    code = (
        "import sys, watchfloor.schema.filter.parse, watchfloor.schema.filter.type_check, "
        "watchfloor.query.batches.registry, "
        "watchfloor.planner.planner; sys.exit('jpype' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_package_is_installed() -> None:
    code = "import setuptools; from distutils.core import run_setup as run; "
    code += "print(*run('setup.py', stop_after='init').packages)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(listed) == {".".join(("watchfloor", *file.parent.parts)) for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=str)
def test_what_serves_one_layout_stands_in_its_folder(file: Path) -> None:
    layouts = {other.parts[2] for other in files_imported(file) if other.parts[:2] == ("store", "layouts")} & LAYOUTS
    if file not in KNOW_LAYOUTS:
        assert layouts <= set(file.parts)


@pytest.mark.parametrize("file", sorted(JAVA.rglob("*.java")), ids=lambda path: path.stem)
def test_what_serves_one_layout_stands_in_its_package(file: Path) -> None:
    named = {layout for layout in LAYOUTS if f"watchfloor.{layout}." in file.read_text("utf-8")}
    assert named <= set(file.parts)
