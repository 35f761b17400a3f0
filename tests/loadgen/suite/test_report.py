"""Reports take every number from the samples, load nothing from elsewhere, and a browser shows all of them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from chromium import open_page
from every_drawing import everything
from runs import asking, loading, write

from watchfloor.api.cli import main as cli
from watchfloor.loadgen.experiments.registry import draw_pictures, list_names, load_experiment
from watchfloor.loadgen.harness.measurement.figure import DERIVED, STATISTICS
from watchfloor.loadgen.harness.measurement.table import format_number
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.harness.plots.labels import capitalize_first
from watchfloor.loadgen.report.report import write_report

pytest.importorskip("matplotlib", reason="reports need matplotlib: pip install 'watchfloor[bench]'")

OF_SAMPLES = {**STATISTICS, "lowest": min, "highest": max, "count": len}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a report, one of whose experiments has failed."""
    asked = {name: {"options": []} for name in ("loading", "asking")}
    record = {"quick": True, "seed": 1, "experiments": {**asked, "broken": {"options": [], "failed": "exit status 3"}}}
    folder = write(tmp_path_factory.mktemp("report") / "run", loading(1), asking(1), record=record)
    assert write_report(folder) == folder / "report.html"
    return folder


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a report that has every kind of drawing."""
    run = write(tmp_path_factory.mktemp("drawn") / "run", *everything())
    write_report(run)
    return run


class Cells(HTMLParser):
    """The cells of figures, with their text; and the numeric cells of their tables that say not what they are."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[tuple[dict[str, str], str]] = []
        self._open: dict[str, str] | None = None
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "td":
            self._open = {name: value or "" for name, value in attrs}
            self.cells.append((self._open, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._open = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open is not None:
            self.cells[-1] = (self._open, self.cells[-1][1] + data)


def parsed(page: Path) -> Cells:
    cells = Cells()
    cells.feed(page.read_text())
    return cells


def test_every_number_is_in_the_samples(folder: Path) -> None:
    samples: dict[tuple[str, str, str], list[float]] = {}
    for line in (folder / "samples.jsonl").read_text().splitlines():
        sample = json.loads(line)
        key = (sample["experiment"], sample["metric"], json.dumps(sample["of"]))
        assert sample["number"] == len(samples.setdefault(key, []))
        samples[key].append(sample["value"])
    written = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("loading", "asking")}
    derived = {
        (name, f["metric"], json.dumps(f["of"])): f["value"]
        for name, measured in written.items()
        for f in measured["figures"]
        if f["statistic"] == DERIVED
    }
    shown = set()
    for attributes, text in parsed(folder / "report.html").cells:
        if "data-value" not in attributes:
            continue
        of = json.dumps(json.loads(attributes["data-of"]))
        key, statistic = (attributes["data-experiment"], attributes["data-metric"], of), attributes["data-statistic"]
        value = json.loads(attributes["data-value"])
        assert value == (derived[key] if statistic == DERIVED else OF_SAMPLES[statistic](samples[key])), key
        assert text == (str(value) if statistic == "count" else format_number(value))
        shown.add((key, statistic))
    assert {key for key, _ in shown} == set(samples)
    assert len(shown) == 4 * len(samples)


def test_cells_that_look_like_figures_say_which(folder: Path) -> None:
    """Goals and the list of experiments apart, no cell of the page holds a number of its own."""
    page = (folder / "report.html").read_text()
    tables = re.findall(r"<th class=\"n\">figure</th>.*?</table>", page, re.DOTALL)
    assert len(tables) == len({m for name in ("loading", "asking") for m in metrics(folder, name)})
    bare = [cell for table in tables for cell in re.findall(r'<td class="n">([^<]*)</td>', table)]
    assert {cell[:1] for cell in bare if cell} == {"≤", "≥"}


def metrics(folder: Path, name: str) -> list[tuple[str, str]]:
    return [(name, metric) for metric in json.loads((folder / f"{name}.json").read_text())["metrics"]]


def test_definitions_notes_gaps_and_surroundings_are_told(folder: Path) -> None:
    text = parsed(folder / "report.html").text
    for name in ("loading", "asking"):
        written = json.loads((folder / f"{name}.json").read_text())
        for metric, definition in written["metrics"].items():
            assert definition[1:].replace("asked_ms", "“time of an answer”") in text
            assert capitalize_first(written["titles"][metric]) in text
    for told in (
        "peer <b>&amp; is ahead",
        "best: index",
        "not measured: exit status 3",
        "1 missed",
        "quick run",
        "its numbers are rough",
    ):
        assert told in text, told
    for told in ("a <fast> one", "0.1.0", "shards", "events 1000, seed 1", "Service time", "open loop"):
        assert told in text, told
    assert "/somewhere" not in text


def test_nothing_comes_from_elsewhere(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "<script" not in page and "<link" not in page and "@import" not in page
    references = re.findall(r'(?:src|href)="([^"]*)"|url\(([^)]*)\)', page)
    assert all((a or b).startswith("#") for a, b in references)
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))


def test_each_picture_is_there_as_svg_and_png(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    files = sorted(path.name for path in (folder / "plots").iterdir())
    assert {name.removesuffix(".svg") for name in files if name.endswith(".svg")} == {
        name.removesuffix(".png") for name in files if name.endswith(".png")
    }
    assert len(files) == 2 * (folder / "report.html").read_text().count("<figure>")
    for name in files:
        content = (folder / "plots" / name).read_bytes()
        if name.endswith(".svg"):
            assert ET.fromstring(content).tag.endswith("svg")
        else:
            assert len(image.open(io.BytesIO(content)).convert("L").getcolors()) > 20, name


def test_the_same_run_gives_the_same_report(folder: Path, tmp_path: Path) -> None:
    again = write(tmp_path / "run", loading(1), asking(1), record=json.loads((folder / "run.json").read_text()))
    (again / "plots").mkdir()
    (again / "plots" / "old.svg").write_text("of an earlier run")
    write_report(again)
    made = [{p.relative_to(d): p.read_bytes() for p in d.rglob("*") if p.is_file()} for d in (folder, again)]
    assert made[0] == made[1]


def test_experiments_have_drawings_of_their_own(drawn: Path) -> None:
    """Each of them draws what its experiment measures, and the others fall to the general one."""
    found = Counter(path.name.partition("-")[0] for path in (drawn / "plots").glob("*.svg"))
    of_their_own = [name for name in list_names() if load_experiment(name).draw is not general.draw_general]
    assert len(of_their_own) >= 7
    assert {name.partition("-")[0] for name in of_their_own} <= set(found)
    assert found["many"] == 2
    names = {path.stem for path in (drawn / "plots").glob("*.svg")}
    assert {"responsiveness-paper-1", "responsiveness-paper-last", "ingest-per-client"} <= names


def test_marks_shade_a_series_and_those_that_stayed_zero_are_only_named(drawn: Path) -> None:
    text = parsed(drawn / "report.html").text
    held, silent = "time for which writes were held", "tablet servers that did not answer"
    assert f"Shaded: where {held} is above zero. Zero throughout: {silent}." in text
    picture = next(path for path in (drawn / "plots").glob("*series*1-tablet-server-*.svg") if "closed" in path.name)
    titles = ET.parse(picture).getroot().itertext()
    assert held in "".join(titles) and silent not in picture.read_text()


def test_pictures_and_captions_have_words_and_no_identifiers(drawn: Path) -> None:
    page = (drawn / "report.html").read_text()
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page, re.DOTALL)
    drawings = [path.read_text() for path in (drawn / "plots").glob("*.svg")]
    texts = [text for drawing in drawings for text in re.findall(r"<(?:text|tspan)[^>]*>([^<]*)<", drawing)]
    assert len(captions) == len(drawings) and len(texts) > 10 * len(drawings)
    assert [text for text in (*captions, *texts) if re.search(r"\w_\w", text)] == []


def test_no_figures_make_no_picture() -> None:
    assert not any(draw_pictures(name, []) for name in (*list_names(), "other"))


OVERLAPS = """
[...document.querySelectorAll('figure')].flatMap(figure => {
  const boxes = [...figure.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  const cut = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  return boxes.flatMap(([a, one], i) => boxes.slice(i + 1).filter(([_, two]) => cut(one, two))
    .map(([b]) => `${figure.querySelector('figcaption').textContent.slice(0, 40)}: ${a} | ${b}`));
})
"""


def test_a_browser_shows_it_all(drawn: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    shots = {}
    with open_page(drawn / "report.html", tmp_path / "profile", width=1280) as page:
        boxes = page.run("[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().toJSON())")
        overlaps, wide = page.run(OVERLAPS), page.run("document.documentElement.scrollWidth")
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            shots[scheme] = image.open(io.BytesIO(page.screenshot())).convert("RGB")
        assert page.requests == [(drawn / "report.html").as_uri()]
        assert page.troubles == []
    assert len(boxes) == len(list((drawn / "plots").glob("*.svg")))
    assert all(box["width"] > 300 and box["height"] > 60 for box in boxes)
    assert overlaps == []
    assert wide <= 1280
    assert all(len(shot.getcolors(1 << 24)) > 100 for shot in shots.values())
    assert min(shots["light"].getpixel((1, 1))) > 200 > 60 > max(shots["dark"].getpixel((1, 1)))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "not a folder"),
        ({}, "holds no experiment's JSON"),
        ({"a.json": "{"}, "is not JSON"),
        ({"a.json": "[]"}, "is not what"),
        ({"a.json": '{"experiment": "a"}'}, "is not what"),
        ({"run.json": "[]"}, "is not what"),
        ({"run.json": '{"experiments": {"blocks": {"options": []}}}'}, "none of blocks was measured"),
    ],
)
def test_what_is_no_run_is_refused(
    content: dict[str, str] | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    if content is not None:
        folder.mkdir()
        for name, text in content.items():
            (folder / name).write_text(text)
    assert cli.main(["report", str(folder)]) == cli.USER
    said = capsys.readouterr().err
    assert told in said and str(folder) in said


def test_without_matplotlib_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "matplotlib", missing)
    assert cli.main(["report", str(folder)]) == cli.USER
    assert "pip install 'watchfloor[bench]'" in capsys.readouterr().err
