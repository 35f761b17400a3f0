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
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from chromium import open_page
from runs import asking, experiment, loading, of_model, write

from watchfloor.api.cli import main as cli
from watchfloor.loadgen.experiments.lookups.figures import (
    BUCKET,
    HIGHEST,
    LOOKUP,
    LOWEST,
    MEAN,
    SIZE,
    WRITE,
    make_published_figures,
)
from watchfloor.loadgen.experiments.registry import draw_pictures, list_names, load_experiment
from watchfloor.loadgen.harness.measurement.figure import DERIVED, STATISTICS, Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.measurement.table import format_number
from watchfloor.loadgen.harness.plots import general
from watchfloor.loadgen.lookups.options import CODECS
from watchfloor.loadgen.suite.report import write_report

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


def everything() -> Iterator[Measurement]:
    """Figures as the experiments with drawings of their own make them, with as many rows as they may have."""
    ms = Metric("row_ms", "ms", "from the question to the row")
    batching = [
        Figure(ms, (scale * place, scale * place * 1.3), {"value": value, "row": row, "policy": policy})
        for value, scale in (("dense", 3.0), ("rare", 900.0))
        for place, row in enumerate(("1", "100", "1000", "last"), 1)
        for policy in ("none", "fixed", "bisect", "llcysa", "density")
    ]
    yield experiment("batching", batching)
    first = [
        Figure(Metric(name, "ms", "to the row"), (3.0 + place, 9.5), {"value": value, "scheme": scheme})
        for name in ("first_rows_ms", "hundred_rows_ms", "rest_first_rows_ms", "rest_hundred_rows_ms", "rest_adds_ms")
        for value in ("rare", "dense")
        for place, scheme in enumerate(("auto", "batched-index", "batched-scan", "scan", "index"))
    ]
    yield experiment("first-result", first)
    asked = Metric("asked_ms", "ms", "from the question to the last row")
    crossover = [
        Figure(asked, (2.0 + 100 * density * place,), {"where": f'left = "d{density}"', "task": task, "scheme": scheme})
        for density in (1e-5, 1e-3, 0.1, 0.5)
        for task in ("page", "end")
        for place, scheme in enumerate(("scan", "batched-scan", "index", "batched-index", "auto"), 1)
    ]
    yield experiment("crossover", crossover)
    load = Metric("load_megabytes_per_second", "MB/s", "bytes / seconds")
    answer = Metric("answer_ms", "ms", "from the question to all of its rows")
    blocks = [
        Figure(load, (20.0, 31.0), {"engine": e, "events": "10,000"}) for e in ("block", "cell", "duckdb", "chdb")
    ]
    blocks += [
        Figure(
            answer, (4.0 * place, 5.0 * place), {"engine": engine, "events": "10,000", "question": f"newest, {value}"}
        )
        for value in ("dense", "middling", "rare")
        for place, engine in enumerate(("block", "duckdb", "chdb"), 1)
    ]
    yield experiment("blocks", blocks)
    yield from of_servers()
    yield of_lookups()
    yield of_model()
    many = [Figure(asked, (1.0 + n, 2.0 + n), {"question": f"the question number {n}"}) for n in range(50)]
    yield experiment("many", many)


def of_lookups() -> Measurement:
    """Look-ups and bulk writes by codec, with a study's."""
    found = [
        Figure(LOOKUP, (float(ms * place), ms * place + 5.0), {"codec": codec, "state": state, "of": name})
        for place, codec in enumerate(CODECS, 1)
        for state in ("cold", "warm", "warm, one executor")
        for name, ms in {LOWEST: 2, MEAN: 9, "50 % of look-ups": 7, "99 % of look-ups": 40, HIGHEST: 300}.items()
    ]
    found += [
        Figure(BUCKET, (share,), {"codec": codec, "state": state, "time": time})
        for codec in CODECS
        for state in ("cold", "warm", "warm, one executor")
        for time, share in (("0 to 50 ms", 70.0), ("50 to 100 ms", 25.0), ("1 s and more", 5.0))
    ]
    for place, codec in enumerate(CODECS, 1):
        found += [Figure(WRITE, (9e3 * place,), {"codec": codec}), Figure(SIZE, (60.0 * place,), {"codec": codec})]
    return experiment("lookups", [*found, *make_published_figures()])


def of_servers() -> Iterator[Measurement]:
    """Ingest by clients and by a schedule, queries by scheme and by a schedule, other engines."""
    seconds = tuple(float(second) for second in range(20))
    rate = Metric("steady_events_per_second", "events/s", "mean of the rate", "mean")
    over_time = Metric("instantaneous_events_per_second", "events/s", "events in each second")
    holds = Metric("hold_ms", "ms", "for how long a write was held", "max")
    silent = Metric("silent_servers", "servers", "servers that did not answer", "max")
    slow = Metric("item_latency_99th_ms", "ms", "from due to durable", "99th percentile")
    ingest = []
    for clients in (1, 4):
        for tservers in (1, 2):
            of = {"clients": f"{clients} clients", "tservers": f"{tservers} tservers", "load": "closed loop"}
            speeds = tuple(1e4 * clients * tservers + 900 * (second % 5) for second in seconds)
            ingest += [Figure(rate, speeds[5:], of, at=seconds[5:]), Figure(over_time, speeds, of, at=seconds)]
            ingest.append(Figure(replace(rate, name="megabytes_per_second_per_client", unit="MB/s"), (31.0, 33.0), of))
            ingest.append(Figure(holds, tuple(200.0 * (7 <= second < 9) for second in seconds), of, at=seconds))
            ingest.append(Figure(silent, (0.0,) * len(seconds), of, at=seconds))
    for share in (50, 120):
        of = {"tservers": "2 tservers", "load": "open loop", "share": f"{share} %"}
        waited = tuple(share + second for second in seconds)
        ingest += [Figure(replace(slow, name="item_latency_ms"), waited, of, at=seconds), Figure(slow, waited, of)]
    published = replace(rate, name="paper_megabytes_per_second_per_client", unit="MB/s")
    yield experiment("ingest", [*ingest, Figure(published, (1.1,), {"load": "the paper's"}, note="HPEC 2014")])
    row = Metric("row_ms", "ms", "from the question to the row")
    of_rows = [
        Figure(row, (2.0 * place, 3.0 * place), {"query": q, "scheme": s, "layout": "block", "state": state, "row": r})
        for q in ("A", "B", "C")
        for place, s in enumerate(("scan", "batched-scan", "index", "batched-index", "auto"), 1)
        for state in ("warm", "ingest")
        for r in ("1", "100", "1000", "last")
    ]
    paper = Metric("paper_ms", "ms", "what the paper has")
    of_rows += [
        Figure(paper, (7000.0,), {"query": q, "scheme": s, "layout": "the paper's", "row": r})
        for r in ("1", "last")
        for q in ("A", "B", "C")
        for s in ("scan", "batched-scan", "index", "batched-index")
    ]
    of_rows += [
        Figure(Metric(name, "ms", "of a schedule"), (5.0, 8.0), {"layout": "block", "state": "idle", "load": load})
        for name in ("service_ms", "service_p99_ms", "latency_ms", "latency_p99_ms")
        for load in ("25% of the closed loop", "75% of the closed loop")
    ]
    yield experiment("responsiveness", of_rows)
    yield experiment(
        "peers",
        [
            Figure(row, (2.0 * place, 3.0 * place), {"question": question, "rows": "10 rows", "engine": engine})
            for question in ("dense, row 1", "dense, last row", "rare, row 1")
            for place, engine in enumerate(("watchfloor", "duckdb", "chdb", "tantivy", "opensearch"), 1)
        ],
    )

    operations = Metric("ycsb_operations_per_second", "operations/s", "operations / seconds")
    of_ycsb = {"workload": "A", "threads": "1 thread"}
    yield experiment(
        "ycsb", [Figure(operations, (5.0,), {**of_ycsb, "mode": mode}) for mode in ("flushed", "buffer of 100 KB")]
    )


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a report that has every kind of drawing."""
    run = write(tmp_path_factory.mktemp("drawn") / "run", loading(1), asking(1), *everything())
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
        for definition in json.loads((folder / f"{name}.json").read_text())["metrics"].values():
            assert definition[1:] in text
    for told in ("peer <b>&amp; is ahead", "best: index", "not measured: exit status 3", "1 missed", "quick run"):
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
    assert "Shaded: where hold_ms is above zero. Zero throughout: silent_servers." in text
    picture = next(path for path in (drawn / "plots").glob("*series*1-tservers*.svg") if "closed" in path.name)
    titles = ET.parse(picture).getroot().itertext()
    assert "hold_ms" in "".join(titles) and "silent_servers" not in picture.read_text()


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
