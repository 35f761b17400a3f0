"""The questions in which another engine is ahead of ours, with the reasons.

The reasons were found by profiles and are argued in docs/decisions/0012 (stats) and docs/measuring/peers.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.plots.engine_names import spell_engine

_LOAD = "It parses JSON in native code and writes columns: no index of events, and no counts by value and hour."
_DISK = "It keeps no index of events, no counts and no labels beside the columns."
_STATS = (
    "Each block of ours has a dictionary of its own, whose values are looked up among the groups anew in each block; "
    "its "
    "units are 15 to 30 times as large, and it answers in the process that asks."
)
_PAIRS = f"{_STATS} A third of the tablet server's time goes to pairs of groups and values."
_BY_QUESTION: Mapping[tuple[str, str], str] = {
    (
        "stats",
        "count of everything",
    ): "It has the number of its rows at hand in the process that asks; ours asks a server.",
    ("stats", "errors by domain"): (
        "Few events are left after the filter, so that finding and decompressing cells in the files counts most: 55 "
        "percent of the tablet server's time."
    ),
    ("stats", "ports by host"): _PAIRS,
    ("stats", "users by domain"): _PAIRS,
    ("stats", "many groups"): _STATS,
    ("stats", "client ports by server"): (
        "2,048 groups have some thousand distinct ports each; ours stay exact, and the service merges them from the "
        "parts "
        "that servers send."
    ),
}
"""The reasons that are of a question, by experiment and question."""
_BY_ENGINE: Mapping[str, str] = {
    "duckdb": (
        "It reads one column of all events, in the process that asks, in less time than our look-up takes; it has no "
        "index, so that its time grows with the events."
    ),
    "chdb": (
        "It answers in the process that asks, where ours asks servers twice; it has no index, so that its time grows "
        "with "
        "the events."
    ),
    "tantivy": (
        "It looks a term up in its own process and reads the stored lines of the hits alone; ours reads blocks of "
        "thousands of events for a few."
    ),
    "victorialogs": (
        "One process answers, which passes over blocks by their Bloom filters and times; ours plans, and asks other "
        "servers."
    ),
    "opensearch": "It makes one request to one server, whose index is in the order of time; ours plans and asks twice.",
}
"""The reasons for rows that are asked for, by engine."""


@dataclass(frozen=True)
class EngineAhead:
    """A figure of another engine that is ahead of ours, the question, and why it is."""

    measurement: Measurement
    figure: Figure
    question: str
    engine: str
    reason: str


def list_ahead(measurements: Sequence[Measurement]) -> Iterator[list[EngineAhead]]:
    """Yields the figures of other engines whose note says that they are ahead.

    Those of one experiment, question and reason are in one list.
    """
    for measurement in measurements:
        found: dict[tuple[str, str], list[EngineAhead]] = {}
        questions: list[str] = []
        for each in filter(None, (_find_ahead(measurement, figure) for figure in measurement.figures)):
            found.setdefault((each.question, each.reason), []).append(each)
            questions.append(each.question)
        yield from (found[key] for key in sorted(found, key=lambda key: questions.index(key[0])))


def _find_ahead(measurement: Measurement, figure: Figure) -> EngineAhead | None:
    engine = figure.labels.get("engine")
    if engine is None or figure.note != f"{engine} is ahead":
        return None
    others = [value for key, value in figure.labels.items() if key not in ("engine", "ours")]
    question = figure.labels.get("question") or figure.labels.get("what") or ", ".join(others)
    return EngineAhead(
        measurement, figure, question, spell_engine(engine), _give_reason(measurement.experiment, question, engine)
    )


def _give_reason(experiment: str, question: str, engine: str) -> str:
    """Returns the reason, or a pointer to the notes of the experiment where none is known."""
    if found := _BY_QUESTION.get((experiment, question)):
        return found
    if experiment == "stats":
        return _STATS
    if question in ("load", "disk"):
        return _LOAD if question == "load" else _DISK
    return _BY_ENGINE.get(engine, "No reason is known: docs/measuring/peers.md has what was found.")
