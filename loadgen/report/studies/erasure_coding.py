"""The page of the erasure-coding study: look-ups of random rows, files read and written whole, and bulk writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from watchfloor.loadgen.experiments.erasure import figures as erasure
from watchfloor.loadgen.experiments.lookups.figures import HIGHEST, LOOKUP, LOWEST, MEAN, SIZE, WRITE
from watchfloor.loadgen.lookups.study import STUDY, list_lookups, list_writes
from watchfloor.loadgen.published.read_published import Row

from .own_figures import OwnFigures
from .study_page import StudyCell, StudyContent, StudyRow, StudyTable

_COMMAND = "`watchfloor bench lookups`"
_HDFS_COMMAND = "`watchfloor bench erasure`"
_EXTREMES = (LOWEST, MEAN, HIGHEST)


def make_tables(ours: OwnFigures) -> Iterator[StudyTable]:
    published = [
        StudyRow(f"published: {times.encoding}", [StudyCell(value) for value in (times.min, times.mean, times.max)])
        for times in list_lookups()
    ]
    cases = dict.fromkeys(
        (f.figure.labels["codec"], f.figure.labels["state"]) for f in ours.list_figures("lookups", LOOKUP)
    )
    here = [
        StudyRow(f"here: {codec}, {state}", [_find_time(ours, codec, state, of) for of in _EXTREMES])
        for codec, state in cases
    ]
    columns = ("files", "shortest, milliseconds", "mean, milliseconds", "longest, milliseconds")
    yield StudyTable(
        "Time of a look-up of ten random rows",
        columns,
        [*published, *_list_coded_lookups(ours), *here],
        ("lookups",),
        f"{_HDFS_COMMAND} and {_COMMAND}",
    )
    yield from _make_file_tables(ours)
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
    for size in ours.list_figures("erasure", erasure.DISK):
        labels = size.figure.labels
        rate = ours.find_figure("erasure", erasure.BULK_WRITE, **labels)
        cells = [StudyCell(size.value, size), StudyCell(rate.value, rate) if rate else None]
        rows.append(StudyRow(f"here, on all disks: {labels['codec']}, {labels['files']}", cells))
    yield StudyTable(
        "Bulk writes by codec",
        ("codec", "size of a row, bytes", "rows a second for each writer"),
        rows,
        ("bulk-write",),
        f"{_HDFS_COMMAND} and {_COMMAND}",
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
    yield from _state_coding(ours)


def _state_coding(ours: OwnFigures) -> Iterator[str]:
    """Yields what the codes cost in look-ups beside replicas, and how much of their disk they take."""
    usual = _find_coded(ours, erasure.REPLICATION, erasure.ALL_UP, MEAN)
    if usual is None:
        yield f"The codes were not measured in this run: {_HDFS_COMMAND} does it, with HDFS and a KDC of its own."
        return
    for policy in list(erasure.POLICIES)[1:]:
        times = {state: _find_coded(ours, policy, state, MEAN) for state in erasure.STATES}
        up, killed = times[erasure.ALL_UP], times[erasure.KILLED]
        if up and killed:
            published = _find_published_ratio(policy)
            yield (
                f"A look-up under {policy} takes {up.value / usual.value:.1f} times as long as on replicas "
                f"({published:.1f} times in the study), and with two DataNodes lost {killed.value / up.value:.1f} "
                "times as long as with all up."
            )
        sizes = [
            ours.find_figure("erasure", erasure.DISK, files=files, codec="gz")
            for files in (policy, erasure.REPLICATION)
        ]
        if sizes[0] and sizes[1]:
            yield f"Its files take {sizes[0].value / sizes[1].value:.0%} of the disk of three replicas."


def _find_published_ratio(policy: str) -> float:
    """Returns the mean time of a look-up of the study with all nodes up, by that on replicas."""
    table = STUDY.tables["lookups"]
    times = [
        table.select_rows(encoding=erasure.STUDY_NAMES[files], failures=False)[0]["mean_ms"]
        for files in (policy, erasure.REPLICATION)
    ]
    return float(times[0] / times[1])


def _list_coded_lookups(ours: OwnFigures) -> Iterator[StudyRow]:
    for policy in erasure.POLICIES:
        for state in erasure.STATES:
            cells = [_find_coded(ours, policy, state, of) for of in _EXTREMES]
            if any(cells):
                yield StudyRow(f"here, HDFS: {policy}, {state}", cells)


def _make_file_tables(ours: OwnFigures) -> Iterator[StudyTable]:
    """Yields the tables of files that are written and read whole, in gigabytes a second as the study has them."""
    for number, verb, metric in (("write", "Writing", erasure.FILE_WRITE), ("read", "Reading", erasure.FILE_READ)):
        published = [
            StudyRow(f"published: {_describe_case(row)}", [StudyCell(row["gigabytes_per_second"])])
            for row in STUDY.tables[number].rows
        ]
        here = [
            StudyRow(f"here: {_describe_labels(figure.figure.labels)}", [StudyCell(figure.value / 1000, figure)])
            for figure in ours.list_figures("erasure", metric)
        ]
        yield StudyTable(
            f"{verb} files whole in HDFS",
            ("files", "gigabytes a second"),
            [*published, *here],
            (number,),
            _HDFS_COMMAND,
        )


def _describe_labels(labels: Mapping[str, str]) -> str:
    state = f", {labels['state']}" if "state" in labels else ""
    return f"{labels['files']}, {labels['at once']} at once{state}"


def _describe_case(row: Row) -> str:
    if "executors" in row:
        return f"{row['encoding']}, {row['executors']} executors"
    return f"{row['encoding']}, {row['nodes']} nodes{' with failures' if row['failures'] else ''}"


def _find_coded(ours: OwnFigures, policy: str, state: str, of: str) -> StudyCell | None:
    found = ours.find_figure("erasure", erasure.LOOKUP, files=policy, state=state, of=of)
    return StudyCell(found.value, found) if found else None


def _find_time(ours: OwnFigures, codec: str, state: str, of: str) -> StudyCell | None:
    found = ours.find_figure("lookups", LOOKUP, codec=codec, state=state, of=of)
    return StudyCell(found.value, found) if found else None


CONTENT = StudyContent(
    "erasure-coding",
    (
        _HDFS_COMMAND,
        _COMMAND,
        "`watchfloor lookups write --properties FILE`",
        "`watchfloor lookups read --properties FILE`",
    ),
    make_tables,
    state_findings,
)
