"""The page of the erasure-coding study: look-ups of random rows, and sizes and rates of bulk writes by codec."""

from __future__ import annotations

from collections.abc import Iterator

from watchfloor.loadgen.experiments.lookups.figures import HIGHEST, LOOKUP, LOWEST, MEAN, SIZE, WRITE
from watchfloor.loadgen.lookups.study import list_lookups, list_writes

from .own_figures import OwnFigures
from .study_page import StudyCell, StudyContent, StudyRow, StudyTable

_COMMAND = "`watchfloor bench lookups`"


def make_tables(ours: OwnFigures) -> Iterator[StudyTable]:
    published = [
        StudyRow(f"published: {times.encoding}", [StudyCell(value) for value in (times.min, times.mean, times.max)])
        for times in list_lookups()
    ]
    cases = dict.fromkeys(
        (f.figure.labels["codec"], f.figure.labels["state"]) for f in ours.list_figures("lookups", LOOKUP)
    )
    here = [
        StudyRow(f"here: {codec}, {state}", [_find_time(ours, codec, state, of) for of in (LOWEST, MEAN, HIGHEST)])
        for codec, state in cases
    ]
    columns = ("files", "shortest, milliseconds", "mean, milliseconds", "longest, milliseconds")
    yield StudyTable("Time of a look-up of ten random rows", columns, [*published, *here], ("lookups",), _COMMAND)
    writes = list(list_writes())
    rows = [
        StudyRow(
            f"published: {write.codec}, {write.encoding}",
            [StudyCell(write.bytes_per_row), StudyCell(write.rows_per_writer)],
        )
        for write in writes
    ]
    for size in ours.list_figures("lookups", SIZE):
        rate = ours.find_figure("lookups", WRITE, codec=size.figure.labels["codec"])
        cells = [StudyCell(size.value, size), StudyCell(rate.value, rate) if rate else None]
        rows.append(StudyRow(f"here: {size.figure.labels['codec']}", cells))
    yield StudyTable(
        "Bulk writes by codec",
        ("codec", "size of a row, bytes", "rows a second for each writer"),
        rows,
        ("bulk-write",),
        _COMMAND,
    )


def state_findings(ours: OwnFigures) -> Iterator[str]:
    sizes = {write.codec: write.bytes_per_row for write in list_writes()}
    for size in ours.list_figures("lookups", SIZE):
        codec = size.figure.labels["codec"]
        if codec in sizes:
            yield f"A row takes {size.value:.1f} bytes under {codec} here, and {sizes[codec]:.1f} in the study."
    (reference,) = (times for times in list_lookups() if times.encoding == "Replication, 16 nodes")
    for codec in ("gz", "zstd", "none", "snappy", "lz4"):
        cold, warm = (_find_time(ours, codec, state, MEAN) for state in ("cold", "warm"))
        if cold and warm:
            yield (
                f"A look-up under {codec} takes {cold.value:.3g} milliseconds cold and {warm.value:.3g} warm, in the "
                f"mean here, on a small table; three copies took {reference.mean} in the study, whose table was larger "
                "than memory."
            )
            break
    yield (
        "What erasure coding itself costs and wins is not measured on one machine: it needs HDFS with as many data "
        "nodes as a code has cells; `watchfloor lookups` measures it on such a cluster."
    )


def _find_time(ours: OwnFigures, codec: str, state: str, of: str) -> StudyCell | None:
    found = ours.find_figure("lookups", LOOKUP, codec=codec, state=state, of=of)
    return StudyCell(found.value, found) if found else None


CONTENT = StudyContent(
    "erasure-coding",
    (_COMMAND, "`watchfloor lookups write --properties FILE`", "`watchfloor lookups read --properties FILE`"),
    make_tables,
    state_findings,
    others=dict.fromkeys(("write", "read"), "It measures HDFS alone, without Accumulo, and has no counterpart here."),
)
