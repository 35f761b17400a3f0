"""A study's page: its question, tables of its figures beside ours, findings in sentences, and all that it published.

Each study is a file with a ``StudyContent``, which makes tables and findings of the figures of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from watchfloor.loadgen.harness.plots.canvas import Picture, Sketch
from watchfloor.loadgen.published.read_published import Study, StudyName, load_published

from .own_figures import OwnFigure, OwnFigures


@dataclass(frozen=True)
class StudyCell:
    """A number of a table, in the unit of its column; ``ours`` is the figure that it was made of, if it is ours."""

    value: float
    ours: OwnFigure | None = None


@dataclass(frozen=True)
class StudyRow:
    """A row of a table; a cell is None where nobody has a number."""

    label: str
    cells: Sequence[StudyCell | None]

    @property
    def is_ours(self) -> bool:
        """True if all numbers of the row were measured here."""
        return all(cell.ours for cell in self.cells if cell) and any(self.cells)


@dataclass(frozen=True)
class StudyTable:
    """Published figures beside ours. ``columns`` are words with units, the first one is that of the rows' labels.

    ``numbers`` are the study's tables that they come from, and ``command`` is what measures ours.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[StudyRow]
    numbers: Sequence[str]
    command: str

    @property
    def has_ours(self) -> bool:
        return any(cell.ours for row in self.rows for cell in row.cells if cell)


@dataclass(frozen=True)
class StudyContent:
    """The part of a study's page that is made of figures of ours.

    ``rerun`` are the commands that measure it anew, and ``others`` says of published tables that no figures of ours
    stand beside, by their number, how to get some. ``draw`` makes the pictures that no experiment draws.
    """

    name: StudyName
    rerun: Sequence[str]
    make_tables: Callable[[OwnFigures], Iterator[StudyTable]]
    state_findings: Callable[[OwnFigures], Iterator[str]]
    others: Mapping[str, str] = field(default_factory=dict)
    draw: Callable[[OwnFigures], Iterator[Sketch]] = lambda ours: iter(())


@dataclass(frozen=True)
class StudyPage:
    """A study as the report shows it. ``findings`` are sentences, of which there is at least one."""

    study: Study
    tables: Sequence[StudyTable]
    findings: Sequence[str]
    pictures: Sequence[Picture]
    rerun: Sequence[str]
    others: Mapping[str, str]

    def cite(self, table: StudyTable) -> str:
        """Returns the places of the figures of a table."""
        return "; ".join(self.study.tables[number].place for number in table.numbers)


def make_page(content: StudyContent, ours: OwnFigures, pictures: Sequence[Picture]) -> StudyPage:
    """Makes the page of a study; ``pictures`` are those that experiments and the study itself have drawn."""
    findings = list(content.state_findings(ours))
    if not findings:
        findings = [f"Nothing of this study was measured in this run; {' and '.join(content.rerun)} measure it."]
    tables = list(content.make_tables(ours))
    return StudyPage(load_published()[content.name], tables, findings, pictures, content.rerun, content.others)
