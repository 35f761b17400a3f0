"""The page of the security study: the cost of each level as published, and queries beside ingest as measured here."""

from __future__ import annotations

from collections.abc import Iterator

from watchfloor.loadgen.experiments.continuous.figures import BATCH_WALK, BESIDE_INGEST, LINKED, READ, WALK
from watchfloor.loadgen.experiments.responsiveness.figures import INGEST, ROW, WARM
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.labels import label_published
from watchfloor.loadgen.published.read_published import load_published
from watchfloor.schema.choices import AUTO

from .own_figures import OwnFigures
from .study_page import StudyCell, StudyContent, StudyRow, StudyTable

_STUDY = load_published()["security"]
_LEVELS = {
    "none": "none",
    "ssl": "TLS (SSL)",
    "auth": "Kerberos, authentication",
    "auth-int": "Kerberos, integrity",
    "auth-conf": "Kerberos, confidentiality",
}
_COMMAND = "watchfloor continuous ingest --buffer 500000 --properties FILE"
_CHANGE = Metric("change", "%", "more time than without security", title="more time than without security")


def make_tables(ours: OwnFigures) -> Iterator[StudyTable]:
    yield StudyTable(
        "Time of two billion entries by security level",
        ("level", "published, 8 workers, median, seconds", "more than none, percent"),
        [
            StudyRow(
                _LEVELS[row["level"]], [StudyCell(row["median_ms"] / 1000), StudyCell(row["median_change_percent"])]
            )
            for row in _STUDY.tables["2"].rows
        ],
        ("2",),
        f"`{_COMMAND}` on a cluster of each level",
    )
    yield StudyTable(
        "The announced second part, queries beside ingest, which was never published",
        ("query", "here, alone", "here, beside ingest", "beside ingest / alone"),
        [*_list_walks(ours), *_list_queries(ours)],
        (),
        "`watchfloor bench continuous`",
    )


def _list_walks(ours: OwnFigures) -> Iterator[StudyRow]:
    for reader in (WALK, BATCH_WALK):
        alone, beside = (ours.find_figure("continuous", READ, reader=reader, table=t) for t in (LINKED, BESIDE_INGEST))
        if alone and beside and alone.value:
            cells = [StudyCell(alone.value, alone), StudyCell(beside.value, beside)]
            yield StudyRow(f"{reader}, entries a second", [*cells, StudyCell(beside.value / alone.value, beside)])


def _list_queries(ours: OwnFigures) -> Iterator[StudyRow]:
    for query in ("A", "B", "C"):
        of = {"query": query, "scheme": AUTO, "row": "1", "layout": "block"}
        alone, beside = (ours.find_figure("responsiveness", ROW, state=state, **of) for state in (WARM, INGEST))
        if alone and beside:
            cells = [StudyCell(alone.value, alone), StudyCell(beside.value, beside)]
            yield StudyRow(
                f"query {query}, time to the first row, milliseconds",
                [*cells, StudyCell(beside.value / alone.value, beside)],
            )


def state_findings(ours: OwnFigures) -> Iterator[str]:
    yield (
        "The levels are not measured on one machine, whose client and servers would share the cost of encryption: "
        f"run `{_COMMAND}` on a cluster of each level and compare the change in percent."
    )
    for row in _list_walks(ours):
        share = row.cells[2]
        if share:
            yield f"Beside ingest a {row.label.partition(',')[0]}er looks up {share.value:.0%} of what it does alone."
    for row in _list_queries(ours):
        ratio = row.cells[2]
        if ratio:
            name = row.label.partition(",")[0]
            yield f"Beside ingest the first row of {name} takes {ratio.value:.1f} times as long as alone."


def draw(ours: OwnFigures) -> Iterator[Sketch]:
    """Draws the published change of each level; there is nothing of ours beside it on one machine."""
    label = label_published(_STUDY.year, "8 workers")
    rows = [
        DotRow(
            _LEVELS[row["level"]],
            {
                label: Figure(
                    _CHANGE,
                    tuple(row[f"{which}_change_percent"] for which in ("min", "median", "max")),
                    derived=row["median_change_percent"],
                )
            },
        )
        for row in _STUDY.tables["2"].rows
        if row["level"] != "none"
    ]
    caption = (
        "More time than without security, of the median run; the bar has the changes of the shortest and the longest."
    )
    yield draw_dots("levels", caption, rows, _CHANGE.titled_unit, _STUDY.name)


CONTENT = StudyContent(
    "security",
    (f"`{_COMMAND}` on a cluster of each level", "`watchfloor bench continuous`", "`watchfloor bench responsiveness`"),
    make_tables,
    state_findings,
    draw=draw,
)
