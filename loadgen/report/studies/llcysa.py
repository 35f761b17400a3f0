"""The page of the LLCySA paper: times to the first and the last row by scheme, and the rate of an ingest client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from watchfloor.loadgen.experiments.ingest.figures import CLIENT_RATE
from watchfloor.loadgen.experiments.responsiveness.figures import ROW, WARM
from watchfloor.loadgen.harness.row_times import LAST
from watchfloor.loadgen.published.read_published import load_published
from watchfloor.schema.text import join_words

from .own_figures import OwnFigures
from .study_page import StudyCell, StudyContent, StudyRow, StudyTable

_STUDY = load_published()["llcysa"]
_LAYOUTS = ("block", "cell")
_TIMES = (("I", "1", "first"), ("II", LAST, "last"))
"""A table of the paper, the row whose time it has, and that row in words."""
_QUERIES = {"A": "A, popular", "B": "B, middling", "C": "C, rare"}


def make_tables(ours: OwnFigures) -> Iterator[StudyTable]:
    for number, row, word in _TIMES:
        yield StudyTable(
            f"Time to the {word} row of a query",
            (
                "scheme and query",
                "published, 8 nodes, seconds",
                *(f"here, {layout} layout, warm, seconds" for layout in _LAYOUTS),
            ),
            [
                StudyRow(
                    f"{each['scheme']}, query {_QUERIES[each['query']]}",
                    [
                        StudyCell(each["seconds"]),
                        *(_find_time(ours, each["query"], each["scheme"], row, layout) for layout in _LAYOUTS),
                    ],
                )
                for each in _STUDY.tables[number].rows
            ],
            (number,),
            "`watchfloor bench responsiveness`",
        )
    (published,) = _STUDY.tables["ingest"].rows
    clients = [
        StudyRow(
            f"here: {each.figure.labels['clients']}, {each.figure.labels['tservers']}", [StudyCell(each.value, each)]
        )
        for each in ours.list_figures("ingest", CLIENT_RATE)
    ]
    yield StudyTable(
        "Rate of each ingest client",
        ("run", "megabytes a second for each client"),
        [StudyRow("published: until saturation", [StudyCell(published["megabytes_per_second_per_client"])]), *clients],
        ("ingest",),
        "`watchfloor bench ingest`",
    )


def state_findings(ours: OwnFigures) -> Iterator[str]:
    layout = next((name for name in _LAYOUTS if ours.find_figure("responsiveness", ROW, layout=name, state=WARM)), None)
    if layout:
        yield from _compare_schemes(ours, layout)
    if rates := ours.list_figures("ingest", CLIENT_RATE):
        (published,) = _STUDY.tables["ingest"].rows
        fastest = max(rates, key=lambda each: each.value)
        times = fastest.value / published["megabytes_per_second_per_client"]
        yield (
            f"A client takes up to {fastest.value:.1f} megabytes a second here ({fastest.figure.labels['clients']}, "
            f"{fastest.figure.labels['tservers']}), {times:.0f} times the 1.1 of the study, which found Accumulo's "
            "BatchWriter in the client to be what limits it."
        )


def _compare_schemes(ours: OwnFigures, layout: str) -> Iterator[str]:
    for number, row, word in _TIMES:
        best: dict[str, list[str]] = {}
        published: dict[str, list[str]] = {}
        for query in _QUERIES:
            times = {
                each.figure.labels["scheme"]: each.value
                for each in ours.list_figures("responsiveness", ROW, layout=layout, state=WARM, query=query, row=row)
            }
            theirs = {each["scheme"]: each["seconds"] for each in _STUDY.tables[number].select_rows(query=query)}
            if known := [scheme for scheme in theirs if scheme in times]:
                best.setdefault(min(known, key=times.__getitem__), []).append(query)
                published.setdefault(min(theirs, key=theirs.__getitem__), []).append(query)
        if best:
            yield (
                f"The {word} row comes soonest by {_name_best(best)} here ({layout} layout, warm), and by "
                f"{_name_best(published)} in the study."
            )
    here, study = [], []
    for query in _QUERIES:
        scan, batched = (_find_time(ours, query, scheme, "1", layout) for scheme in ("scan", "batched-scan"))
        theirs = {each["scheme"]: each["seconds"] for each in _STUDY.tables["I"].select_rows(query=query)}
        if scan and batched:
            here.append(f"{scan.value / batched.value:.1f} ({query})")
            study.append(f"{theirs['scan'] / theirs['batched-scan']:.0f} ({query})")
    if here:
        yield (
            f"To the first row, a scan takes {join_words(here)} times as long as a batched scan here, and "
            f"{join_words(study)} times as long in the study, whose scans read far more."
        )


def _find_time(ours: OwnFigures, query: str, scheme: str, row: str, layout: str) -> StudyCell | None:
    """Returns the seconds of our warm query."""
    found = ours.find_figure("responsiveness", ROW, query=query, scheme=scheme, row=row, layout=layout, state=WARM)
    return StudyCell(found.value / 1000, found) if found else None


def _name_best(queries_by_scheme: Mapping[str, Sequence[str]]) -> str:
    return join_words([f"{scheme} for {join_words(queries)}" for scheme, queries in queries_by_scheme.items()])


CONTENT = StudyContent(
    "llcysa", ("`watchfloor bench responsiveness`", "`watchfloor bench ingest`"), make_tables, state_findings
)
