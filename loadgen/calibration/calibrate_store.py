"""Loads events of known frequencies into temporary tables, measures the costs of reading by them, and keeps the costs.

The events come from the generator; ``store/layouts/calibration.py`` measures. Their source is in no catalog and has no
sightings, so that nobody finds them. Its name is one that no source can have: the tables of a try that was killed are
known by it, and removed by the next one. The costs are kept in the store's catalog, where every client finds them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace

from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.loadgen.generator.generate import GenerationSummary, generate_events
from watchfloor.loadgen.generator.planted_paths import PLANTED_PATTERN, SINGLE_PATH
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.filter.tree import Compare, Matches
from watchfloor.schema.read_costs import ReadCosts
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.admin.tables import drop_namespaces, drop_source_tables
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.keys import source_namespace
from watchfloor.store.layouts.calibration import CalibrationSample, SampleCondition, measure_costs
from watchfloor.store.layouts.item_writer import ItemWriter
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.stack.home.calibration_note import note_costs
from watchfloor.store.stack.home.stack_lock import StackBusyError
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.store import Store

EVENTS = 300_000
"""The number of events in blocks: a scan of all of them takes half as long again as one of the newest."""
CELL_SHARE = 150
"""In cells there are so many times fewer, because a scan of them takes so much longer."""
_FEED = "proxy.events"
_NAME = "Calibration"
_ITEM_ID, _FILE_ID = b"calibrat", b"calibration file"
Check = Callable[[], None]
"""Called often; may raise to end all."""


def calibrate_store(
    settings: Settings, check: Check, report: Callable[[str], None], events: int | None = None
) -> dict[str, ReadCosts]:
    """Measures the costs of each layout, keeps them in the store's catalog and returns them.

    ``events`` is the number of events in blocks, ``EVENTS`` if it is None. Raises ``StackBusyError`` if another
    process measures on this stack, ``StoreError``, and what ``check`` raises. Its tables are removed in any case.
    """
    with _hold_lock(settings), Store.open(settings) as store:
        if settings.is_accumulo_local:
            drop_namespaces(store.connection, source_namespace(_NAME + "."))
        found = {}
        for layout, number in {"block": events or EVENTS, "cell": (events or EVENTS) // CELL_SHARE}.items():
            check()
            report(f"{layout}: loading {number:,} events")
            source = _make_source(layout)
            try:
                # Without zones each block is read: the planner's costs are those of blocks that are.
                store.make_tables(source, zones=False)
                generated = _load_events(store, source, number, check)
                report(f"{layout}: measuring")
                found[layout] = measure_costs(store, source, _describe_sample(generated), check)
            finally:
                drop_source_tables(store.connection, source)
        for layout, costs in found.items():
            store.catalog.put_costs(layout, asdict(costs))
            report(f"{layout}: {', '.join(f'{name} {value:.3g}' for name, value in asdict(costs).items())}")
        if settings.is_accumulo_local and (state := load_state(settings)):
            note_costs(settings, state)
    return found


def _hold_lock(settings: Settings) -> AbstractContextManager[None]:
    """Returns the lock of a stack against others that measure, as a context manager; a cluster has none."""
    if not settings.is_accumulo_local or load_state(settings) is None:
        return nullcontext()
    busy = StackBusyError("another process measures what reading costs on this stack: wait for its end")
    return hold_file_lock(settings.home / "run" / "calibrating", busy)


def _make_source(layout: str) -> Source:
    """Returns a source that no definition can name and no catalog has."""
    like = builtin_definitions()[_FEED]
    source = parse_definition({**like.definition, "layout": layout})
    return replace(source, name=f"{_NAME}.{layout}{secrets.token_hex(4)}")


def _load_events(store: Store, source: Source, events: int, check: Check) -> GenerationSummary:
    with store.sink() as sink:
        lines = _LineLoader(sink, source, store.settings.chunk_bytes, check)
        generated = generate_events(lines, events, 1)
        lines.finish()
    return generated


class _LineLoader:
    """Loads the lines that are written to it, as a worker does with a file, but in this thread alone."""

    def __init__(self, sink: EntrySink, source: Source, chunk_bytes: int, check: Check) -> None:
        self._writer = ItemWriter(sink, _ITEM_ID, _FILE_ID)
        self._parser = open_parser(source.name, b"", lambda name, derive: source)
        self._chunk_bytes, self._check = chunk_bytes, check
        self._offset = 0

    def write(self, data: memoryview) -> int:
        """Loads whole lines; returns their bytes."""
        text, at = bytes(data), 0
        while at < len(text):
            self._check()
            is_last = len(text) - at <= self._chunk_bytes
            end = len(text) if is_last else text.rindex(b"\n", at, at + self._chunk_bytes) + 1
            for source, events in self._parser.parse(Chunk(self._offset + at, text[at:end])).events:
                self._writer.write_events(source, events)
            at = end
        self._offset += at
        return at

    def finish(self) -> None:
        """Returns when all events are in the store."""
        self._check()
        self._writer.finish()


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
