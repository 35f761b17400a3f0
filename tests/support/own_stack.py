"""A folder for a local stack that a test starts for itself, the stack of a run, and one whose servers stay dead."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.stack import discard_stack, start_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor

MOST_TABLES = 150
"""With 480 tables the making of one more takes the servers three times the work that it takes with 60."""


@contextmanager
def stack_folder(parent: Path | None = None) -> Iterator[Settings]:
    """Yields the settings of a stack in ``parent`` that may be started; removes all that is left of it at the end.

    The folder is not in pytest's own temporary folder: other runs delete all but the last few of those, even in use.
    """
    home = Path(tempfile.mkdtemp(prefix="watchfloor-test-", dir=parent))
    settings = load_settings(home=home, overrides={"metrics": "on"})
    try:
        yield settings
    finally:
        discard_stack(settings)
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def unsupervised(settings: Settings) -> Iterator[None]:
    """Within the block no server that dies is started again by the supervisor; at its end the whole stack runs.

    The stack may hold the tables of hundreds of tests, each with entries in the log that is read at its start.
    """
    stop_supervisor(settings)
    try:
        yield
    finally:
        start_stack(replace(settings, up_seconds=400))


class SharedStack:
    """The running stack that the files of a test run share. It is another one once files have made many tables."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._settings: Settings | None = None

    def provide(self) -> Settings:
        """Returns the settings of the running stack, which it starts if there is none or that has many tables."""
        if self._settings is None or self._count_tables() > MOST_TABLES:
            self.close()
            with ExitStack() as opened:
                settings = opened.enter_context(stack_folder())
                # A umask that closes nothing: what the stack leaves open to others, tests find.
                before = os.umask(0)
                try:
                    start_stack(settings)
                finally:
                    os.umask(before)
                self._open, self._settings = opened.pop_all(), settings
        return self._settings

    def close(self) -> None:
        """Stops the stack and removes what it has left."""
        self._open.close()
        self._settings = None

    def _count_tables(self) -> int:
        return len(list((self._settings.home / "data/accumulo/tables").iterdir())) if self._settings else 0
