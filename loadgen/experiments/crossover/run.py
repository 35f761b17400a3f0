"""``bench crossover``: index and scan by density, and how near ``auto`` comes to the better one.

The conditions have densities from 1e-7 to 0.5, alone, in pairs by ``and`` and ``or``, and as ranges. Each is asked by
every scheme in turn, for its newest 100 events and for all of them. ``auto`` is compared with the best fixed scheme.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from statistics import median

from watchfloor.loadgen.generator.density_fields import (
    FIELDS,
    count_density_events,
    density_value,
    write_density_events,
)
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import LoadCase, LogFile, load_file
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.plots.canvas import render_pictures
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import AUTO, FIXED_SCHEMES
from watchfloor.schema.errors import InternalError, UserError
from watchfloor.schema.field import VALUE_INDEX, Field, FieldType
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

from .plot import draw

LEAST_EVENTS = 10_000
PAGE = 100
GOALS_FROM = 1_000_000
"""The number of events from which on the goals apply."""
COLUMNS = ("ts", "src_ip", "domain", "left", "right")
PAIRED = (0.2, 1e-2, 1e-4, 1e-6)
RANGES = (
    "src_ip in 10.0.0.0/12", "src_ip in 10.0.0.0/18", "src_ip in 10.0.0.0/22", "src_ip in 10.0.1.0/28",
    "status in 500..599", 'domain startswith "port"', 'domain startswith "dr"', 'domain = "*.saltmarsh.example"',
    "user ~ /^lu[.].*n$/",
)  # fmt: skip

ASKED = Metric(
    "asked_ms",
    "ms",
    "from the call of the query service to the last row that is wanted, planning included",
    title="time to the last row wanted",
)
TO_BEST = Metric(
    "auto_to_best",
    "",
    "median asked_ms of auto / the lowest median asked_ms of a fixed scheme; samples: the same of its turns",
    better="lower",
    title="auto / best fixed scheme, ratio of times",
)
WITHIN = Metric(
    "auto_within_1.2",
    "%",
    "share of all cells, a condition and a task each, with auto_to_best up to 1.2",
    better="higher",
    title="conditions in which auto takes up to 1.2 times the best time",
)
WORST = Metric(
    "auto_worst",
    "",
    "the highest auto_to_best of all cells",
    better="lower",
    title="auto / best fixed scheme, worst ratio of times",
)


@dataclass(frozen=True)
class CrossoverCase:
    """A condition and the number of its newest events that are asked for; None asks for all."""

    where: str
    task: str
    limit: int | None


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", GOALS_FROM, "events")
    add_count(parser, "--turns", 7, "samples of each case")
    parser.add_argument("--layout", metavar="L", choices=("block", "cell"), default="block", help="block or cell")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="write a picture of the single conditions (SVG)")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if options.events < LEAST_EVENTS:
        raise UserError(f"--events is {options.events}; at least {LEAST_EVENTS:,} are needed")
    path = session.folder / "densities.json"
    generated = write_density_events(path, options.events, options.seed)
    source = _create_source(session, options.layout)
    load_file(
        session,
        source,
        LogFile(path, "proxy.events", generated.events, path.stat().st_size),
        LoadCase(options.layout, "whole", 1),
    )
    path.unlink()
    await_rest(session.settings)
    times: dict[tuple[CrossoverCase, str], list[float]] = defaultdict(list)
    rows: dict[CrossoverCase, int] = {}
    with Store.open(session.settings, role="query") as store:
        service = QueryService(store)
        for turn in range(-2, options.turns):
            for where in list_conditions(options.events):
                for cell in (CrossoverCase(where, "page", PAGE), CrossoverCase(where, "end", None)):
                    for scheme in shuffle_cases((*FIXED_SCHEMES, AUTO), turn):
                        seconds, row_count = _time_query(service, source, cell, scheme)
                        if rows.setdefault(cell, row_count) != row_count:
                            raise InternalError(f"{cell}: {row_count} rows by {scheme}, and {rows[cell]} before")
                        if turn >= 0:
                            times[cell, scheme].append(seconds * 1000)
            print_progress(f"turn {turn + 1} of {options.turns}" if turn >= 0 else "warming up")
    figures = size_goals(_make_figures(times, rows), options.events, GOALS_FROM, "events")
    if options.plot:
        (picture, *_) = render_pictures("crossover", draw, figures)
        options.plot.write_text(picture.svg, "utf-8")
    return figures


def list_conditions(events: int) -> Iterator[str]:
    """Yields the filters, except those of densities that are too small for the number of events."""
    left, right = FIELDS
    known = [density for density, count in count_density_events(events).items() if count]
    for density in known:
        yield f'{left} = "{density_value(density)}"'
    for word in ("and", "or"):
        for one, other in combinations_with_replacement([d for d in PAIRED if d in known], 2):
            yield f'{left} = "{density_value(one)}" {word} {right} = "{density_value(other)}"'
    yield from RANGES


def _create_source(session: BenchSession, layout: str) -> Source:
    fields = [Field(name, FieldType.STRING, indexes=(VALUE_INDEX,)) for name in FIELDS]
    return session.create_source("proxy.events", layout=layout, more=fields)


def _time_query(service: QueryService, source: Source, cell: CrossoverCase, scheme: str) -> tuple[float, int]:
    """Returns the seconds and the rows of a query."""
    request = QueryRequest(source.name, where=cell.where, columns=COLUMNS, limit=cell.limit, scheme=scheme)
    started = time.perf_counter()
    with closing(service.run(request)) as result:
        rows = sum(map(len, result))
        return time.perf_counter() - started, rows


def _make_figures(
    times: Mapping[tuple[CrossoverCase, str], list[float]], rows: Mapping[CrossoverCase, int]
) -> Iterator[Figure]:
    ratios = []
    for cell, count in rows.items():
        labels = {"where": cell.where, "task": cell.task}
        for scheme in (*FIXED_SCHEMES, AUTO):
            yield Figure(ASKED, tuple(times[cell, scheme]), {**labels, "scheme": scheme}, note=f"{count:,} rows")
        best = min(FIXED_SCHEMES, key=lambda scheme: median(times[cell, scheme]))
        ratio = median(times[cell, AUTO]) / median(times[cell, best])
        samples = tuple(a / b for a, b in zip(times[cell, AUTO], times[cell, best], strict=True))
        yield Figure(TO_BEST, samples, labels, derived=ratio, note=f"best: {best}")
        ratios.append(ratio)
    within = 100 * sum(ratio <= 1.2 for ratio in ratios) / len(ratios)
    yield Figure(WITHIN, (within,), {"cells": f"{len(ratios)} cells"}, Goal(95, at_most=False))
    yield Figure(WORST, (max(ratios),), {"cells": f"{len(ratios)} cells"}, Goal(2, at_most=True))


EXPERIMENT = Experiment(
    name="crossover",
    summary="index and scan by density, and how near `auto` comes to the better one",
    metrics=(ASKED, TO_BEST, WITHIN, WORST),
    quick_options=("--events", "20000", "--turns", "1"),
    quick_seconds=21,
    add_options=add_options,
    run=run,
    draw=draw,
    heap="512m",
    tserver_heap="3g",
)
