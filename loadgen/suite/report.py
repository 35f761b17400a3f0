"""``watchfloor report DIR``: writes a run as one HTML file, its pictures, and its raw samples as JSON lines.

    DIR/*.json ─▶ figures ─▶ pictures ─▶ DIR/plots/*.svg, *.png ─┬▶ DIR/report.html
                     └────▶ samples ───▶ DIR/samples.jsonl       │
                     └────▶ tables, definitions ─────────────────┘

The page is self-contained: it loads no script, font or picture.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from watchfloor.loadgen.experiments.registry import draw_pictures
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement, write_whole
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.measurement.table import format_number
from watchfloor.loadgen.harness.plots.canvas import Picture, require_matplotlib
from watchfloor.schema.errors import InputFileError, UserError
from watchfloor.schema.files.paths import show_path

from .run_folder import SuiteRun, read_run

PAGE, SAMPLES, PLOTS = "report.html", "samples.jsonl", "plots"
_TEMPLATES = Path(__file__).parent / "templates"
_OWN_SETTINGS = ("home", "jars", "topic", "group")
"""Settings that differ from one experiment to the next by design."""
_MOMENTARY = ("available_bytes", "load_average")
_OPEN_ROWS = 30
"""The number of rows from which on a table is folded."""


@dataclass(frozen=True)
class ReportSection:
    """A metric of an experiment: its figures, and the keys of the columns that tell them apart."""

    metric: Metric
    keys: Sequence[str]
    figures: Sequence[Figure]

    @property
    def folded(self) -> bool:
        """True if the table of the section is folded at first."""
        return len(self.figures) > _OPEN_ROWS


@dataclass(frozen=True)
class ReportChapter:
    """An experiment of the report."""

    measurement: Measurement
    pictures: Sequence[Picture]
    sections: Sequence[ReportSection]

    @property
    def missed(self) -> list[Figure]:
        return [figure for figure in self.measurement.figures if figure.meets_goal is False]

    @property
    def met(self) -> list[Figure]:
        return [figure for figure in self.measurement.figures if figure.meets_goal]

    @property
    def ahead(self) -> list[Figure]:
        """The figures of other engines whose note says that the other engine is ahead of ours."""
        return [f for f in self.measurement.figures if f.note == f"{f.labels.get('engine')} is ahead"]


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
    chapters = [_make_chapter(measurement) for measurement in run.measurements]
    _write_pictures(folder / PLOTS, [picture for chapter in chapters for picture in chapter.pictures])
    write_whole(
        folder / SAMPLES, b"".join(orjson.dumps(line) + b"\n" for m in run.measurements for line in list_samples(m))
    )
    write_whole(folder / PAGE, _render_page(run, chapters).encode())
    return folder / PAGE


def list_samples(measurement: Measurement) -> Iterator[dict[str, Any]]:
    """Yields an object for each raw sample of an experiment; ``number`` counts from 0 within its figure."""
    for figure in measurement.figures:
        case = {"experiment": measurement.experiment, "metric": figure.metric.name, "of": dict(figure.labels)}
        for order, value in enumerate(figure.samples):
            at = {"at": figure.at[order]} if figure.at else {}
            yield {**case, "number": order, **at, "value": value, "unit": figure.metric.unit}


def _make_chapter(measurement: Measurement) -> ReportChapter:
    sections = []
    for metric in dict.fromkeys(figure.metric for figure in measurement.figures):
        same = [figure for figure in measurement.figures if figure.metric == metric]
        sections.append(
            ReportSection(metric, list(dict.fromkeys(key for figure in same for key in figure.labels)), same)
        )
    return ReportChapter(measurement, draw_pictures(measurement.experiment, measurement.figures), sections)


def _render_page(run: SuiteRun, chapters: Sequence[ReportChapter]) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    environment.filters["json"] = lambda value: orjson.dumps(value).decode()
    return environment.get_template(PAGE).render(
        run=run,
        chapters=chapters,
        surroundings=_describe_surroundings(run.measurements),
        began=min(m.started for m in run.measurements),
    )


def _describe_surroundings(measurement: Sequence[Measurement]) -> dict[str, list[tuple[str, str]]]:
    """Returns names and values of the machine, the versions and the settings.

    If experiments differ in a value, it names the experiments that have each.
    """
    parts: dict[str, list[Mapping[str, Any]]] = {
        "Machine": [{k: v for k, v in m.machine.items() if k not in _MOMENTARY} for m in measurement],
        "Versions": [m.versions for m in measurement],
        "Settings": [{k: v for k, v in m.settings.items() if k not in _OWN_SETTINGS} for m in measurement],
    }
    names = [m.experiment for m in measurement]
    return {
        title: [
            (key, _format_values(names, [each.get(key) for each in same]))
            for key in dict.fromkeys(k for f in same for k in f)
        ]
        for title, same in parts.items()
    }


def _format_values(names: Sequence[str], values: Sequence[Any]) -> str:
    """Formats a value that all experiments share, or each value with the names of the experiments that have it."""
    shown = [_format_value(value) for value in values]
    holders = {value: [n for n, v in zip(names, shown, strict=True) if v == value] for value in dict.fromkeys(shown)}
    if len(holders) == 1:
        return shown[0]
    return "; ".join(f"{value} ({', '.join(who)})" for value, who in holders.items())


def _format_value(value: Any) -> str:
    return "–" if value is None or value == "" else f"{value:,}" if isinstance(value, int) else str(value)


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
