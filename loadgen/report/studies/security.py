"""The page of the security study: the cost of each level as published and here, and queries beside ingest."""

from __future__ import annotations

from collections.abc import Iterator

from watchfloor.loadgen.experiments.continuous.figures import BATCH_WALK, BESIDE_INGEST, LINKED, READ, WALK
from watchfloor.loadgen.experiments.responsiveness.figures import INGEST, ROW, WARM
from watchfloor.loadgen.experiments.security.figures import CHANGE, ELAPSED, LOADED, ROW_TIME
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots.canvas import Sketch
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.labels import label_published
from watchfloor.loadgen.harness.row_times import LAST
from watchfloor.loadgen.published.read_published import Row, load_published
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
_COMMAND = "watchfloor bench security"


def make_tables(ours: OwnFigures) -> Iterator[StudyTable]:
    yield StudyTable(
        "Time of two billion entries by security level, and of fewer here",
        (
            "level",
            "published, 8 workers, median, seconds",
            "more than none, percent",
            "here, median, seconds",
            "here, more than none, percent",
        ),
        [_compare_level(ours, row) for row in _STUDY.tables["2"].rows],
        ("2",),
        f"`{_COMMAND}`",
    )
    yield StudyTable(
        "The announced second part, queries beside ingest, which was never published",
        ("query", "here, alone", "here, beside ingest", "beside ingest / alone"),
        [*_list_walks(ours), *_list_queries(ours)],
        (),
        "`watchfloor bench continuous`",
    )
    if rows := list(_list_pipeline(ours)):
        yield StudyTable(
            "Our own pipeline by security level",
            ("level", "events loaded a second", "first row of A, ms", "of B", "of C", "last row of A, ms"),
            rows,
            (),
            f"`{_COMMAND}`",
        )


def _compare_level(ours: OwnFigures, row: Row) -> StudyRow:
    level = row["level"]
    published = StudyCell(row["median_ms"] / 1000), StudyCell(row["median_change_percent"])
    elapsed = ours.find_figure("security", ELAPSED, level=level)
    change = ours.find_figure("security", CHANGE, level=level, of="median")
    here = (
        StudyCell(elapsed.value / 1000, elapsed) if elapsed else None,
        StudyCell(change.value, change) if change else None,
    )
    return StudyRow(_LEVELS[level], [*published, *here])


def _list_pipeline(ours: OwnFigures) -> Iterator[StudyRow]:
    for level, title in _LEVELS.items():
        times = [
            (ROW_TIME, {"query": query, "row": row}) for query, row in (*zip("ABC", "111", strict=True), ("A", LAST))
        ]
        found = [ours.find_figure("security", metric, level=level, **of) for metric, of in ((LOADED, {}), *times)]
        cells = [StudyCell(figure.value, figure) for figure in found if figure]
        if len(cells) == len(found):
            yield StudyRow(title, cells)


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
    changes = {
        level: figure.value
        for level in _LEVELS
        if (figure := ours.find_figure("security", CHANGE, level=level, of="median"))
    }
    if not changes:
        yield f"The levels were not measured in this run: `{_COMMAND}` does it, with a KDC of its own."
    else:
        order = ", ".join(f"{_LEVELS[level]} {change:+.0f} %" for level, change in changes.items())
        yield f"Beside no security the median iteration took: {order}. Clients and servers share this machine's cores."
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
    """Draws the published change of each level, and ours beside it."""
    label = label_published(_STUDY.year, "8 workers")
    rows = []
    for row in _STUDY.tables["2"].rows:
        if row["level"] != "none":
            samples = tuple(row[f"{which}_change_percent"] for which in ("min", "median", "max"))
            shown = {label: Figure(CHANGE, samples, derived=row["median_change_percent"])}
            if ours_here := ours.find_figure("security", CHANGE, level=row["level"], of="median"):
                shown = {"here": ours_here.figure, **shown}
            rows.append(DotRow(_LEVELS[row["level"]], shown))
    caption = (
        "More time than without security, of the median run; the bar has the changes of the shortest and the longest."
    )
    yield draw_dots("levels", caption, rows, CHANGE.titled_unit, _STUDY.name)


CONTENT = StudyContent(
    "security",
    (f"`{_COMMAND}`", "`watchfloor bench continuous`", "`watchfloor bench responsiveness`"),
    make_tables,
    state_findings,
    draw=draw,
)
