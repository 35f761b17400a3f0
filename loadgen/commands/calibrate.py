"""``watchfloor calibrate``: makes events of known frequencies, and measures with them the costs of reading on a store.

The command belongs to this room because its events come from the generator; ``store/layouts/calibration.py`` measures.
Each layout gets a temporary source of its own. The costs are kept in the store, where every client finds them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from watchfloor.api.cli.terminal.parser import CommandParser
from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.loadgen.generator.generate import GenerationSummary, generate_events
from watchfloor.loadgen.generator.planted_paths import PLANTED_PATTERN, SINGLE_PATH
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.tree import Compare, Matches
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.layouts.calibration import CalibrationSample, SampleCondition, measure_costs
from watchfloor.store.store import Store

EVENTS = {"block": 2_000_000, "cell": 100_000}
"""The number of events by layout: a scan of all of them takes some tenths of a second."""
MIN_EVENTS = 10_000


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status."""
    args = _parse_arguments(argv)
    settings = load_settings()
    with tempfile.TemporaryDirectory(prefix="watchfloor-calibrate-") as folder, Store.open(settings) as store:
        session = BenchSession(settings, store, Path(folder).resolve())
        try:
            for layout, most_events in EVENTS.items():
                events = min(most_events, args.events or most_events)
                print_progress(f"{layout}: loading {events:,} events")
                source, generated = _load_events(session, layout, events)
                costs = asdict(measure_costs(store, source, _describe_sample(generated)))
                store.catalog.put_costs(layout, costs)
                print("\n".join(f"{layout:<6} {name:<13} {value:.3g}" for name, value in costs.items()), flush=True)
        finally:
            session.close()
    return 0


def _load_events(session: BenchSession, layout: str, events: int) -> tuple[Source, GenerationSummary]:
    """Loads generated events into a new source of this layout."""
    path = session.folder / f"{layout}.json"
    with path.open("wb") as out:
        generated = generate_events(out, events, 1)
    source = session.create_source("proxy.events", layout=layout)
    with session.store.sink() as sink:
        read_item(ReadTask(session.store, sink, session.make_item(path, source)))
    path.unlink()
    return source, generated


def _describe_sample(generated: GenerationSummary) -> CalibrationSample:
    rare, middling, popular = (
        SampleCondition(Compare("domain", "=", named.value), named.events)
        for named in (generated.rare, generated.middling, generated.popular)
    )
    return CalibrationSample(
        since=to_micros(generated.since),
        until=to_micros(generated.until),
        events=generated.events,
        rare=rare,
        middling=middling,
        popular=popular,
        single=Compare("path", "=", SINGLE_PATH),
        pattern=Matches("path", PLANTED_PATTERN),
    )


def _parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = CommandParser(
        prog="watchfloor calibrate",
        description="Measures what reading costs on this store, and keeps it there for the planner; takes a minute.",
    )
    parser.add_argument("--events", metavar="N", type=int, help="no more generated events than so many")
    args = parser.parse_args(argv)
    if args.events is not None and args.events < MIN_EVENTS:
        raise UserError(f"--events is {args.events}; at least {MIN_EVENTS:,} are needed to tell costs apart")
    return args
