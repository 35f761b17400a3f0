"""A new benchmark is its folder and nothing else: shown on a copy of the rooms, to which one is added.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("schema", "store", "ingest", "planner", "query", "api", "loadgen")

RUN = '''
"""How fast a list is sorted."""

import time

from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric

from .plot import draw

SPEED = Metric("sorted_per_second", "numbers/s", "numbers / seconds of one call of sorted")


def add_options(parser):
    add_count(parser, "--numbers", 1000, "numbers to sort")


def run(session, options):
    began = time.perf_counter()
    sorted(range(options.numbers, 0, -1))
    return [Figure(SPEED, (options.numbers / (time.perf_counter() - began),), {"order": "falling"})]


EXPERIMENT = Experiment(
    name="quick-sort",
    summary="how fast a list is sorted",
    metrics=(SPEED,),
    quick_options=("--numbers", "10"),
    quick_seconds=1,
    add_options=add_options,
    run=run,
    draw=draw,
)
'''
PLOT = '''
"""Draws the speed."""

from watchfloor.loadgen.harness.plots import general


def draw(figures):
    yield from general.draw_metrics(figures)
'''
# An experiment gets a stack before it runs; this one needs none, and gets none here. A shared stack is none either.
PROGRAM = """
import importlib.util, json, sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from watchfloor.loadgen.experiments.registry import draw_pictures, list_names, load_experiment

assert "quick-sort" in list_names()
assert not {"matplotlib", "duckdb", "chdb", "tantivy", "jpype"} & set(sys.modules)
for name in list_names():
    assert load_experiment(name).name == name
assert not {"matplotlib", "duckdb", "chdb", "tantivy", "polars"} & set(sys.modules)

from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.suite import bench, suite
from watchfloor.schema.settings.load import load_settings

folder = Path(sys.argv[1])
settings = load_settings(home=folder / "home")
bench.open_session = lambda *given: nullcontext(SimpleNamespace(settings=settings))
assert bench.main(["quick-sort", "--numbers", "50", "--json", str(folder / "figures.json")]) == 0
drawn = []
if importlib.util.find_spec("matplotlib"):
    figures = Measurement.from_json(json.loads((folder / "figures.json").read_text())).figures
    drawn = [picture.name for picture in draw_pictures("quick-sort", figures)]
chosen = suite._choose(None)["quick-sort"]
print(json.dumps({"drawn": drawn, "all": list(suite._choose(None)), "quick": chosen.quick_options}))
"""


def run_python(copy: Path, *arguments: str) -> str:
    """Runs Python with the rooms of the copy and returns its output."""
    ran = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(copy)},
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the rooms with one experiment more."""
    root = tmp_path_factory.mktemp("rooms")
    for room in ROOMS:
        shutil.copytree(ROOT / room, root / "watchfloor" / room, ignore=shutil.ignore_patterns("java", "__pycache__"))
    folder = root / "watchfloor" / "loadgen" / "experiments" / "quick_sort"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "run.py").write_text(RUN)
    (folder / "plot.py").write_text(PLOT)
    return root


def test_a_benchmark_is_its_folder(copy: Path, tmp_path: Path) -> None:
    said = run_python(copy, "-c", PROGRAM, str(tmp_path)).splitlines()
    assert any(line.startswith("sorted_per_second  falling") for line in said)
    seen = json.loads(said[-1])
    assert "quick-sort" in seen["all"] and seen["all"] == sorted(seen["all"])
    assert seen["quick"] == ["--numbers", "10"]
    assert seen["drawn"] in ([], ["quick-sort-sorted_per_second"])
    written = json.loads((tmp_path / "figures.json").read_text())
    assert written["experiment"] == "quick-sort" and written["options"]["numbers"] == 50


def test_a_benchmark_is_in_the_help_of_its_command(copy: Path) -> None:
    said = run_python(copy, "-m", "watchfloor.api.cli.main", "bench", "--help")
    assert "quick-sort" in said and "how fast a list is sorted" in said
    assert "--numbers" in run_python(copy, "-m", "watchfloor.api.cli.main", "bench", "quick-sort", "--help")
