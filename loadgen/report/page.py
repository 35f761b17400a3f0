"""Fills the templates of the report with the pages of studies, the chapters, and the surroundings of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.table import format_number
from watchfloor.loadgen.harness.plots.engine_names import spell_engine
from watchfloor.loadgen.harness.plots.labels import capitalize_first
from watchfloor.loadgen.published.column_words import COLUMN_WORDS

from .ahead import list_ahead
from .chapters import ReportChapter
from .run_folder import SuiteRun
from .studies.study_page import StudyPage

if TYPE_CHECKING:  # it comes with Jinja2, which other commands do without
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "templates"
_OWN_SETTINGS = ("home", "jars", "topic", "group")
"""Settings that differ from one experiment to the next by design."""
_KEYS = {"tservers": "tablet servers", "what": "question"}
"""The keys of labels that are no words of people, as the heads of columns have them."""
_MOMENTARY = ("available_bytes", "load_average")


def render_page(run: SuiteRun, chapters: Sequence[ReportChapter], studies: Sequence[StudyPage]) -> str:
    """Returns the page as HTML. Jinja2 must be installed."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    environment.filters["first_capital"] = capitalize_first
    environment.filters["spell_experiment"] = _spell_experiment
    environment.filters["spell_key"] = lambda key: _KEYS.get(key, key)
    environment.filters["spell_label"] = lambda label, key: spell_engine(label) if key in ("engine", "ours") else label
    environment.filters["with_code"] = _mark_code
    environment.filters["published"] = _format_published
    environment.filters["json"] = lambda value: orjson.dumps(value).decode()
    return environment.get_template("report.html").render(
        run=run,
        chapters=chapters,
        studies=studies,
        column_words=COLUMN_WORDS,
        ahead=list(list_ahead(run.measurements)),
        surroundings=_describe_surroundings(run.measurements),
        began=min(m.started for m in run.measurements),
    )


def _spell_experiment(name: str) -> str:
    """Returns the heading of an experiment: ``Continuous chaos`` for ``continuous-chaos``."""
    words = ("YCSB" if word == "ycsb" else "REST" if word == "rest" else word for word in name.split("-"))
    return capitalize_first(" ".join(words))


def _mark_code(text: str) -> Markup:
    """Returns a sentence as HTML, with what stands between backticks as code."""
    import markupsafe

    pieces = [str(markupsafe.escape(piece)) for piece in text.split("`")]
    return markupsafe.Markup("".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces)))


def _format_published(value: Any) -> str:
    """Formats a cell of a published table: numbers as they are printed, nothing where the study has no value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    return value or ""


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
