"""Where an experiment runs: a stack, sources of its own on it, a folder for its files; all gone at its end."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kafka import KafkaAdminClient

from watchfloor.ingest.files.file_scan import WHOLE, items_of, scan_file
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.schema.settings.settings import Settings, load_settings
from watchfloor.schema.source import DEFAULT_LAYOUT, Field, Source, builtin_definitions, parse_definition
from watchfloor.store.admin import tables
from watchfloor.store.stack.stack import down, up
from watchfloor.store.store import Store

_KAFKA_MS = 10_000


class BenchSession:
    """A running stack and what an experiment has put on it. ``store`` has the rights to write."""

    def __init__(self, settings: Settings, store: Store, folder: Path) -> None:
        self.settings, self.store, self.folder = settings, store, folder
        self._sources: list[Source] = []
        self._made: set[str] = set()

    def create_source(
        self, kind: str, shards: int | None = None, layout: str = DEFAULT_LAYOUT, more: Sequence[Field] = ()
    ) -> Source:
        """A fresh source with empty tables, its fields those of a built-in definition (``proxy.events``) and more."""
        like = builtin_definitions()[kind]
        name = f"bench.{kind.replace('.', '_')}_{secrets.token_hex(4)}"
        made = parse_definition({**like.definition, "name": name, "layout": layout}).with_fields(list(more))
        source = self.store.register(made.with_shards(shards or like.shards))
        self._sources.append(source)
        self._made.add(source.name)
        return source

    def make_item(self, path: Path, source: Source) -> WorkItem:
        """A whole file as one work item of ``source``, not queued."""
        (item,) = items_of(scan_file(path, WHOLE), str(path), source.name, b"", secrets.token_hex(8))
        return item

    def drop_source(self, source: Source) -> None:
        """Removes a source's tables and its place in the catalog."""
        if source in self._sources:
            self._sources.remove(source)
            tables.drop_source(self.store.connection.client, source)

    def close(self) -> None:
        for source in list(self._sources):
            self.drop_source(source)
        self._delete_ledger_rows()

    def _delete_ledger_rows(self) -> None:
        """Removes what is in the ledger of the sources that were made here, also of loads that were interrupted."""
        found = [row.item for row in Ledger(self.store).rows() if row.item and row.item.feed in self._made]
        rows = {b"i" + item.file_id + item.item_id for item in found}
        rows |= {b"p" + os.fsencode(item.path) for item in found}
        if rows:
            tables.delete_rows(self.store.connection.client, tables.ITEMS_TABLE, rows)


def print_progress(text: str) -> None:
    """Progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def open_session(
    home: str | None, jvm_heap: str | None = None, tserver_heap: str | None = None
) -> Iterator[BenchSession]:
    """A session on the running stack in ``home``, or on one of its own that is stopped and removed at the end.

    ``tserver_heap``: what the tablet server of its own stack has, if not what the setting says. ``jvm_heap``: heap of
    this process's JVM; the processes that it starts keep the setting's. Raises ``StackError`` or ``StoreError``.
    """
    with tempfile.TemporaryDirectory(prefix="watchfloor-bench-") as name:
        folder = Path(name).resolve()
        overrides = {"tservers": 1, **({"tserver_heap": tserver_heap} if tserver_heap else {})}
        settings = load_settings(home=home or folder / "home", overrides=None if home else overrides)
        # Other workers of a shared stack must not take the items that are queued here.
        topic = f"watchfloor.bench.{secrets.token_hex(4)}"
        settings = replace(settings, topic=topic, group=topic)
        try:
            if home is None:
                up(settings, report=lambda line: print_progress(f"  {line}"))
            with Store.open(replace(settings, jvm_heap=jvm_heap or settings.jvm_heap)) as store:
                session = BenchSession(settings, store, folder)
                try:
                    yield session
                finally:
                    session.close()
        finally:
            if home is None:
                down(settings, report=lambda line: print_progress(f"  {line}"))
            else:
                delete_topic(settings)


def delete_topic(settings: Settings) -> None:
    """Removes the topic of this run, if anything was ever queued."""
    admin = KafkaAdminClient(bootstrap_servers=settings.kafka.split(","), request_timeout_ms=_KAFKA_MS)
    try:
        if settings.topic in admin.list_topics():
            admin.delete_topics([settings.topic])
    finally:
        admin.close()
