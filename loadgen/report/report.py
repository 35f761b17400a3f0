"""``watchfloor report DIR``: writes a run as one HTML file, its pictures, and its raw samples as JSON lines.

    DIR/*.json ─▶ figures ─▶ pictures ─▶ DIR/plots/*.svg, *.png ─┬▶ DIR/report.html
                     └────▶ samples ───▶ DIR/samples.jsonl       │
                     └────▶ tables, definitions ─────────────────┘

The page is self-contained: it loads no script, font or picture.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from watchfloor.loadgen.harness.measurement.measurement import Measurement, write_whole
from watchfloor.loadgen.harness.plots.canvas import Picture, require_matplotlib
from watchfloor.schema.errors import InputFileError, UserError
from watchfloor.schema.files.paths import show_path

from .chapters import make_chapters
from .page import render_page
from .run_folder import read_run
from .studies.pages import make_study_pages

PAGE, SAMPLES, PLOTS = "report.html", "samples.jsonl", "plots"


def require_libraries() -> None:
    """Raises ``UserError`` if a library that draws or writes reports is not installed."""
    require_matplotlib()
    if importlib.util.find_spec("jinja2") is None:
        raise UserError("a report needs Jinja2, which comes with Flask: pip install watchfloor")


def write_report(folder: Path) -> Path:
    """Writes the report, its pictures and its samples into a run folder, and returns the path of the page.

    Raises ``InputFileError`` if the folder holds no run or no figure, and ``UserError`` if a library is missing.
    """
    if not folder.is_dir():
        raise UserError(f"{show_path(folder)} is not a folder; `watchfloor bench all --out DIR` makes one")
    require_libraries()
    run = read_run(folder)
    if not run.measurements:
        raise InputFileError(f"{show_path(folder)} holds no figures: none of {', '.join(run.missing)} was measured")
    chapters = make_chapters(run.measurements)
    studies = make_study_pages(run.measurements, [picture for chapter in chapters for picture in chapter.pictures])
    drawn = [picture for chapter in chapters for picture in chapter.pictures if not picture.study]
    _write_pictures(folder / PLOTS, [*drawn, *(picture for page in studies for picture in page.pictures)])
    write_whole(
        folder / SAMPLES, b"".join(orjson.dumps(line) + b"\n" for m in run.measurements for line in list_samples(m))
    )
    write_whole(folder / PAGE, render_page(run, chapters, studies).encode())
    return folder / PAGE


def list_samples(measurement: Measurement) -> Iterator[dict[str, Any]]:
    """Yields an object for each raw sample of an experiment; ``number`` counts from 0 within its figure."""
    for figure in measurement.figures:
        case = {"experiment": measurement.experiment, "metric": figure.metric.name, "of": dict(figure.labels)}
        for order, value in enumerate(figure.samples):
            at = {"at": figure.at[order]} if figure.at else {}
            yield {**case, "number": order, **at, "value": value, "unit": figure.metric.unit}


def _write_pictures(folder: Path, drawn: Sequence[Picture]) -> None:
    """Writes the pictures of this report and removes those of an earlier one."""
    folder.mkdir(exist_ok=True)
    names = {f"{picture.name}.{kind}" for picture in drawn for kind in ("svg", "png")}
    for old in (*folder.glob("*.svg"), *folder.glob("*.png")):
        if old.name not in names:
            old.unlink()
    for picture in drawn:
        write_whole(folder / f"{picture.name}.svg", picture.svg.encode())
        write_whole(folder / f"{picture.name}.png", picture.png)
