"""The session of an experiment: a stack, its own sources on it and a folder for its files, all removed at its end."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from watchfloor.api.formats.visible import escape_line_controls
from watchfloor.ingest.files.file_scan import WHOLE, items_of, scan_file
from watchfloor.ingest.files.open_file import resolve_path
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.work_queue import delete_topic
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.schema.definition import DEFAULT_LAYOUT, add_fields, builtin_definitions, parse_definition
from watchfloor.schema.field import Field
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin import tables
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.stack.stack import discard_stack, start_stack, stop_stack
from watchfloor.store.store import Store

_DROPPED_AT_ONCE = 4
"""The number of sources that are dropped at the same time. Each mostly waits for the manager."""


class BenchSession:
    """A running stack, with what an experiment has put on it; ``store`` has the right to write."""

    def __init__(self, settings: Settings, store: Store, folder: Path) -> None:
        self.settings, self.store, self.folder = settings, store, folder
        self._sources: list[Source] = []
        self._created: set[str] = set()

    @property
    def owns_stack(self) -> bool:
        """True if the stack was started for this session alone, so that it may be stopped and started."""
        return self.settings.home.is_relative_to(self.folder)

    def create_source(
        self, kind: str, shards: int | None = None, layout: str = DEFAULT_LAYOUT, more: Sequence[Field] = ()
    ) -> Source:
        """Creates a source with empty tables. It has the fields of a built-in definition (``proxy.events``), and more.

        Its tables are dropped when the session ends.
        """
        like = builtin_definitions()[kind]
        name = f"bench.{kind.replace('.', '_')}_{secrets.token_hex(4)}"
        definition = add_fields(parse_definition({**like.definition, "name": name, "layout": layout}), more)
        source = self.store.catalog.register(definition.replace_shards(shards or like.shards))
        self._sources.append(source)
        self._created.add(source.name)
        return source

    def adopt_source(self, like: Source, name: str) -> Source:
        """Returns the definition of ``like`` under another name. Its source is dropped when the session ends."""
        source = parse_definition({**like.definition, "name": name})
        self._sources.append(source)
        return source

    def make_item(self, path: Path, source: Source) -> WorkItem:
        """Makes one work item of a whole file, without queueing it."""
        (item,) = items_of(scan_file(path, WHOLE), resolve_path(path), source.name, b"", secrets.token_hex(8))
        return item

    def drop_source(self, source: Source) -> None:
        """Removes a source's tables and its place in the catalog."""
        if source in self._sources:
            self._sources.remove(source)
            tables.drop_source(self.store.connection, source)

    def close(self) -> None:
        """Removes all sources of this session and their rows in the ledger, interrupted loads included."""
        with JavaThreadPool(_DROPPED_AT_ONCE) as pool:
            list(pool.map(self.drop_source, list(self._sources)))
        ledger = Ledger(self.store)
        ledger.delete_items([row.item for row in ledger.read_rows() if row.item and row.item.feed in self._created])
        ledger.close()


@contextmanager
def use_second_home(session: BenchSession, name: str) -> Iterator[Settings]:
    """Yields the settings of one more stack, which the caller starts, and removes it at the end.

    The session's own stack is stopped, so that its memory is free.
    """
    stop_stack(session.settings)
    settings = replace(session.settings, home=session.folder / name, calibration="off")
    try:
        yield settings
    finally:
        discard_stack(settings)


def print_progress(text: str) -> None:
    """Prints a line of progress on standard error."""
    print(escape_line_controls(text), file=sys.stderr, flush=True)


@contextmanager
def open_session(
    home: str | None, jvm_heap: str | None = None, tserver_heap: str | None = None
) -> Iterator[BenchSession]:
    """Opens a session on the running stack in ``home``, or on a stack of its own that is removed at the end.

    ``jvm_heap`` is the heap of this process's JVM; the processes that it starts keep that of the settings.
    ``tserver_heap`` is the heap of the tablet server of the session's own stack; None leaves it to the settings.
    Raises ``StackError`` or ``StoreError``.
    """
    with tempfile.TemporaryDirectory(prefix="watchfloor-bench-") as name:
        folder = Path(name).resolve()
        # Experiments start their own workers, and count them, and nothing else is to run beside them.
        alone = {"tservers": 1, "standing_workers": 0, "calibration": "off"}
        overrides = {**alone, **({"tserver_heap": tserver_heap} if tserver_heap else {})}
        settings = load_settings(home=home or folder / "home", overrides=None if home else overrides)
        # Other workers of a shared stack must not take the items that are queued here.
        topic = f"watchfloor.bench.{secrets.token_hex(4)}"
        settings = replace(settings, topic=topic, group=topic)
        try:
            if home is None:
                start_stack(settings, report=lambda line: print_progress(f"  {line}"))
            with Store.open(replace(settings, jvm_heap=jvm_heap or settings.jvm_heap)) as store:
                session = BenchSession(settings, store, folder)
                try:
                    yield session
                finally:
                    if home is not None:  # A stack of its own goes with all that is in it.
                        session.close()
        finally:
            if home is None:
                discard_stack(settings)
            else:
                delete_topic(settings)
