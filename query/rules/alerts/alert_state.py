"""The state of a watch of rules: the counts of events it has looked at, its alerts, and which were passed on.

It is a database in a file. The counts of what was looked at are recorded after all alerts of the look. After an end at
any point the look is therefore done again, and the alerts that it finds again are known by their IDs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.store.runtime.private_files import make_private_folder, open_private

from .changes import MinuteCounts, Span

_TABLES = """
create table if not exists sources (name text primary key, has_counts integer not null);
create table if not exists hours (source text, hour integer, minutes blob, primary key (source, hour)) without rowid;
create table if not exists looks (source text, since integer, until integer, due real);
create table if not exists alerts (number integer primary key, id text unique, line text, file integer,
  posted integer not null default 0);
create index if not exists unwritten on alerts (number) where file is null;
create index if not exists unposted on alerts (number) where posted = 0;
create table if not exists files (number integer primary key, is_loaded integer not null default 0);
"""


@dataclass(frozen=True)
class NewAlert:
    """An alert to be recorded: its ID, and itself as a line of JSON."""

    id: str
    line: str


@dataclass(frozen=True)
class SourceLook:
    """A look at a source: the spans that have changed, those that were due again, and the counts of changed hours."""

    source: str
    changed: Sequence[Span]
    due: Sequence[Span]
    counts: MinuteCounts


class AlertState:
    """The database of one watch. Raises ``StackError`` if the file is damaged or cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        make_private_folder(path.parent)
        open_private(path, "ab").close()
        with self._report_damage():
            self._database = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = full")
            self._database.executescript(_TABLES)

    def read_sources(self) -> dict[str, bool]:
        """Returns the sources that were there when they were looked for, and whether the state has counts of them."""
        with self._report_damage():
            return {name: bool(known) for name, known in self._database.execute("select name, has_counts from sources")}

    def add_sources(self, names: Iterable[str]) -> None:
        """Records sources of which the state has no counts yet."""
        with self._open_change() as database:
            database.executemany("insert or ignore into sources values (?, 0)", [(name,) for name in names])

    def read_counts(self, source: str) -> MinuteCounts:
        """Returns the counts of events that were looked at."""
        with self._report_damage():
            rows = self._database.execute("select hour, minutes from hours where source = ?", (source,)).fetchall()
        return {hour: np.frombuffer(minutes, np.int64) for hour, minutes in rows}

    def put_counts(self, source: str, counts: MinuteCounts) -> None:
        """Records a source with its counts, from which on it is looked at."""
        with self._open_change() as database:
            database.execute("insert or replace into sources values (?, 1)", (source,))
            self._put_hours(database, source, counts)

    def read_due(self, source: str, now: float) -> list[Span]:
        """Returns the spans of time that are due to be looked at once more."""
        with self._report_damage():
            return self._database.execute(
                "select since, until from looks where source = ? and due <= ?", (source, now)
            ).fetchall()

    def put_alerts(self, alerts: Iterable[NewAlert]) -> int:
        """Records alerts, and returns how many of them are new."""
        with self._open_change() as database:
            before = database.total_changes
            database.executemany(
                "insert or ignore into alerts (id, line) values (?, ?)", [(one.id, one.line) for one in alerts]
            )
            return database.total_changes - before

    def end_look(self, looks: Iterable[SourceLook], due: float) -> None:
        """Records that sources were looked at; the changed spans are looked at once more when it is ``due``."""
        with self._open_change() as database:
            for look in looks:
                self._put_hours(database, look.source, look.counts)
                database.executemany(
                    "delete from looks where source = ? and since = ? and until = ?",
                    [(look.source, *span) for span in look.due],
                )
                database.executemany(
                    "insert into looks values (?, ?, ?, ?)", [(look.source, *span, due) for span in look.changed]
                )

    def next_file(self, most: int) -> tuple[int, list[str]] | None:
        """Returns the number and the lines of the next file of alerts to be loaded; None if all are loaded.

        A file has the same lines whenever it is asked for.
        """
        with self._open_change() as database:
            row = database.execute("select min(number) from files where is_loaded = 0").fetchone()
            if row[0] is None:
                waiting = database.execute(
                    "select number from alerts where file is null order by number limit ?", (most,)
                ).fetchall()
                if not waiting:
                    return None
                row = (database.execute("insert into files (is_loaded) values (0)").lastrowid,)
                database.executemany(
                    "update alerts set file = ? where number = ?", [(row[0], one) for (one,) in waiting]
                )
            lines = database.execute("select line from alerts where file = ? order by number", row).fetchall()
        return row[0], [line for (line,) in lines]

    def mark_loaded(self, file: int) -> None:
        with self._open_change() as database:
            database.execute("update files set is_loaded = 1 where number = ?", (file,))

    def next_unposted(self) -> tuple[int, str] | None:
        """Returns the number and the line of the oldest alert that was not posted yet."""
        with self._report_damage():
            row: tuple[int, str] | None = self._database.execute(
                "select number, line from alerts where posted = 0 order by number limit 1"
            ).fetchone()
        return row

    def mark_posted(self, number: int) -> None:
        """Records that an alert was posted, or was given up."""
        with self._open_change() as database:
            database.execute("update alerts set posted = 1 where number = ?", (number,))

    def skip_posts(self) -> None:
        """Records all alerts as posted: there is no webhook."""
        with self._open_change() as database:
            database.execute("update alerts set posted = 1 where posted = 0")

    def close(self) -> None:
        self._database.close()

    @staticmethod
    def _put_hours(database: sqlite3.Connection, source: str, counts: MinuteCounts) -> None:
        database.executemany(
            "insert or replace into hours values (?, ?, ?)",
            ((source, hour, minutes.astype(np.int64).tobytes()) for hour, minutes in counts.items()),
        )

    @contextmanager
    def _open_change(self) -> Iterator[sqlite3.Connection]:
        """Yields the database in a transaction, which is on the disk afterwards."""
        with self._report_damage():
            self._database.execute("begin immediate")
            try:
                yield self._database
                self._database.execute("commit")
            except BaseException:
                self._database.execute("rollback")
                raise

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StackError(
                f"{show_path(self._path)}, the state of a watch, cannot be used: {error}; if it is damaged, move it "
                f"away: the watch then begins anew"
            ) from error
