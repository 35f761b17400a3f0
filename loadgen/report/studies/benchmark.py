"""The page of the Accumulo benchmark study: continuous ingest, walkers, visibilities and verification, and YCSB."""

from __future__ import annotations

from collections.abc import Iterator

from watchfloor.loadgen.experiments.continuous.figures import (
    BATCH_WALK,
    BESIDE_INGEST,
    INGEST,
    LABELLED,
    LINKED,
    RATIO,
    READ,
    UNSPLIT,
    VERIFIED,
    WALK,
    name_mixed_way,
)
from watchfloor.loadgen.published.read_published import load_published, scale_rates
from watchfloor.schema.text import join_words

from .benchmark_ycsb import make_ycsb_tables, state_ycsb_findings
from .own_figures import OwnFigure, OwnFigures
from .study_page import StudyCell, StudyContent, StudyRow, StudyTable

_STUDY = load_published()["benchmark"]
_COMMAND = "`watchfloor bench continuous`"
_ENTRIES, _QUERIES = "mean_entries_per_second", "mean_queries_per_second"
_CLUSTERS = {"6": "AWB", "7": "EC2"}
"""The study's clusters by the chapter of its tables."""
_UNSPLIT_PAIRS = (("6-4", "6-1"), ("7-3", "7-1"))
"""The tables of ingest into tables that are not pre-split, and those of tables that are."""


def make_tables(ours: OwnFigures) -> Iterator[StudyTable]:
    yield _make_presplit(ours)
    yield _make_unsplit(ours)
    yield _make_walkers(ours)
    yield _make_mixed(ours)
    yield _make_visibilities(ours)
    yield _make_verification(ours)
    yield from make_ycsb_tables(ours)


def state_findings(ours: OwnFigures) -> Iterator[str]:
    rate = _find_ingest(ours, LINKED)
    if rate and (servers := ours.count_tablet_servers("continuous")):
        theirs = [each.per_tablet_server for n in ("6-1", "7-1") for each in scale_rates(_STUDY.tables[n], _ENTRIES)]
        known = [each for each in theirs if each is not None]
        yield (
            f"A tablet server takes {rate.value / servers:,.0f} entries a second into a pre-split table here, with "
            f"its client beside "
            f"it and one copy of each file; in the study each took {min(known):,.0f} to {max(known):,.0f}."
        )
    if ratio := ours.find_figure("continuous", RATIO, way=UNSPLIT):
        pairs = [pair for numbers in _UNSPLIT_PAIRS for pair in _share_presplit(*numbers).items()]
        shares = [share for (_, gigabytes), share in pairs if gigabytes == 1]
        yield (
            f"A table that is not split beforehand takes {ratio.value:.0%} of the rate of one that is; in the study "
            f"{min(shares):.0%} to {max(shares):.0%} with a split threshold of 1 gigabyte. Here one tablet takes all "
            "entries until it splits."
        )
    if ratio := ours.find_figure("continuous", RATIO, way=LABELLED):
        changes = [f"{labelled / plain:.0%}" for _, plain, labelled in _pair_visibilities()]
        yield (
            f"With the study's nineteen visibilities ingest has {ratio.value:.0%} of the rate without them; in the "
            f"study {join_words(changes)}."
        )
    for reader in (WALK, BATCH_WALK):
        alone, beside = (ours.find_figure("continuous", READ, reader=reader, table=t) for t in (LINKED, BESIDE_INGEST))
        if alone and beside and alone.value:
            yield (
                f"A {reader}er looks up {alone.value:,.0f} entries a second alone, and "
                f"{beside.value / alone.value:.0%} of that beside ingest; the study's walkers lost half and more."
            )
    if verified := ours.find_figure("continuous", VERIFIED):
        rates = [row["entries"] / row["seconds"] / row["nodes"] for row in _STUDY.tables["6-12"].rows]
        yield (
            f"Verification reads {verified.value:,.0f} entries a second on one node, out of core and without map and "
            f"reduce; the study's read {min(rates):,.0f} to {max(rates):,.0f} for each node."
        )
    yield from state_ycsb_findings(ours)


def _make_presplit(ours: OwnFigures) -> StudyTable:
    rows = []
    for number in ("6-1", "6-2", "7-1", "7-2"):
        sustained = ", sustained" if number.endswith("2") else ""
        for each in scale_rates(_STUDY.tables[number], _ENTRIES):
            values = (each.tablet_servers, each.rate, each.per_node, each.per_tablet_server)
            cells = [None if value is None else StudyCell(value) for value in values]
            rows.append(StudyRow(f"published: {_CLUSTERS[number[0]]}, {each.nodes:,} nodes{sustained}", cells))
    if rate := _find_ingest(ours, LINKED):
        servers = ours.count_tablet_servers("continuous")
        whole = StudyCell(rate.value, rate)
        local = [StudyCell(servers, rate), whole, whole, StudyCell(rate.value / servers, rate)] if servers else []
        rows.append(StudyRow("here", local or [None, whole, None, None]))
    columns = (
        *("cluster", "tablet servers", "entries a second, mean"),
        *("entries a second for each node", "entries a second for each tablet server"),
    )
    return StudyTable("Continuous ingest into pre-split tables", columns, rows, ("6-1", "6-2", "7-1", "7-2"), _COMMAND)


def _make_unsplit(ours: OwnFigures) -> StudyTable:
    rows = []
    for number, presplit in _UNSPLIT_PAIRS:
        shares = _share_presplit(number, presplit)
        for each in scale_rates(_STUDY.tables[number], _ENTRIES):
            threshold = each.row["split_gb"]
            label = f"published: {_CLUSTERS[number[0]]}, {each.nodes:,} nodes, split at {threshold:g} GB"
            share = shares[each.nodes, threshold]
            rows.append(StudyRow(label, [StudyCell(each.rate), StudyCell(each.per_node), StudyCell(100 * share)]))
    rate, ratio = _find_ingest(ours, UNSPLIT), ours.find_figure("continuous", RATIO, way=UNSPLIT)
    if rate and ratio:
        cells = [StudyCell(rate.value, rate), StudyCell(rate.value, rate), StudyCell(100 * ratio.value, ratio)]
        rows.append(StudyRow("here", cells))
    columns = (
        *("cluster", "entries a second, mean", "entries a second for each node"),
        "share of the pre-split rate of as many nodes, percent",
    )
    return StudyTable("Continuous ingest into tables that are not pre-split", columns, rows, ("6-4", "7-3"), _COMMAND)


def _share_presplit(number: str, presplit: str) -> dict[tuple[int, float], float]:
    """Returns the shares of the pre-split rate by nodes and split threshold in gigabytes."""
    whole = {each.nodes: each.rate for each in scale_rates(_STUDY.tables[presplit], _ENTRIES)}
    return {
        (each.nodes, each.row["split_gb"]): each.rate / whole[each.nodes]
        for each in scale_rates(_STUDY.tables[number], _ENTRIES)
    }


def _make_walkers(ours: OwnFigures) -> StudyTable:
    rows = []
    for number in ("6-6", "7-4"):
        for each in scale_rates(_STUDY.tables[number], _QUERIES):
            size = f"{each.row['test']}, {each.row['entries'] / 1e9:,.0f} billion entries"
            label = f"published: {_CLUSTERS[number[0]]}, {each.nodes:,} nodes, {size}"
            rows.append(StudyRow(label, [StudyCell(each.rate), StudyCell(each.per_node)]))
    for reader in (WALK, BATCH_WALK):
        if read := ours.find_figure("continuous", READ, reader=reader, table=LINKED):
            rows.append(StudyRow(f"here, {reader}", [StudyCell(read.value, read), StudyCell(read.value, read)]))
    columns = ("cluster and test", "entries looked up a second, mean", "entries looked up a second for each node")
    return StudyTable("Walkers and batch walkers on pre-split tables", columns, rows, ("6-6", "7-4"), _COMMAND)


def _make_mixed(ours: OwnFigures) -> StudyTable:
    rows = []
    for number in ("6-8", "7-6"):
        table = _STUDY.tables[number]
        for written, read in zip(scale_rates(table, _ENTRIES), scale_rates(table, _QUERIES), strict=True):
            row = written.row
            label = f"published: {_CLUSTERS[number[0]]}, {written.nodes:,} nodes, {row['ingest']} ingest, {row['test']}"
            values = (written.rate, written.per_node, read.rate, read.per_node)
            rows.append(StudyRow(label, [StudyCell(value) for value in values]))
    for reader in (WALK, BATCH_WALK):
        entries = _find_ingest(ours, name_mixed_way(reader))
        found = ours.find_figure("continuous", READ, reader=reader, table=BESIDE_INGEST)
        if entries and found:
            cells = [StudyCell(each.value, each) for each in (entries, entries, found, found)]
            rows.append(StudyRow(f"here, partial ingest, {reader}", cells))
    columns = (
        *("cluster and test", "entries written a second, mean", "written for each node"),
        *("entries looked up a second, mean", "looked up for each node"),
    )
    return StudyTable("Ingest and walkers at once on pre-split tables", columns, rows, ("6-8", "7-6"), _COMMAND)


def _make_visibilities(ours: OwnFigures) -> StudyTable:
    rows = []
    for cluster, plain, labelled in _pair_visibilities():
        cells = [StudyCell(plain), StudyCell(labelled), StudyCell(100 * labelled / plain)]
        rows.append(StudyRow(f"published: {cluster}", cells))
    found = (_find_ingest(ours, LINKED), _find_ingest(ours, LABELLED))
    ratio = ours.find_figure("continuous", RATIO, way=LABELLED)
    if ratio:
        rates = [StudyCell(each.value, each) if each else None for each in found]
        rows.append(StudyRow("here", [*rates, StudyCell(100 * ratio.value, ratio)]))
    columns = (
        *("cluster", "entries a second without visibilities", "entries a second with nineteen visibilities"),
        "with / without, percent",
    )
    return StudyTable("Continuous ingest with and without cell visibilities", columns, rows, ("6-11", "7-8"), _COMMAND)


def _pair_visibilities() -> Iterator[tuple[str, float, float]]:
    """Yields each cluster of the study, and its rates without and with visibilities."""
    for number in ("6-11", "7-8"):
        table = _STUDY.tables[number]
        for nodes in dict.fromkeys(row["nodes"] for row in table.rows):
            plain, labelled = (table.select_rows(nodes=nodes, visibilities=v)[0][_ENTRIES] for v in (False, True))
            yield f"{_CLUSTERS[number[0]]}, {nodes:,} nodes", plain, labelled


def _make_verification(ours: OwnFigures) -> StudyTable:
    rows = []
    for number in ("6-12", "7-verify"):
        for row in _STUDY.tables[number].rows:
            rate = row["entries"] / row["seconds"]
            size = f"{row['nodes']:,} nodes, {row['entries'] / 1e6:,.0f} million entries"
            label = f"published: {_CLUSTERS[number[0]]}, {size}"
            rows.append(StudyRow(label, [StudyCell(rate), StudyCell(rate / row["nodes"])]))
    if found := ours.find_figure("continuous", VERIFIED):
        rows.append(StudyRow("here", [StudyCell(found.value, found)] * 2))
    columns = ("cluster and table", "entries verified a second", "entries verified a second for each node")
    return StudyTable("Verification", columns, rows, ("6-12", "7-verify"), _COMMAND)


def _find_ingest(ours: OwnFigures, way: str) -> OwnFigure | None:
    return ours.find_figure("continuous", INGEST, way=way)


CONTENT = StudyContent(
    "benchmark",
    ("`watchfloor bench continuous`", "`watchfloor bench ycsb`", "`watchfloor bench model`"),
    make_tables,
    state_findings,
    others=dict.fromkeys(
        ("6-3", "6-5", "6-7", "6-9", "6-10", "7-5", "7-7"),
        "Not measured by an experiment: `watchfloor continuous createtable --tablets 1`, then `ingest`, `walk` and "
        "`batchwalk`, measure it on a cluster. `watchfloor bench model` predicts tables 6-3 and 6-10.",
    ),
)
