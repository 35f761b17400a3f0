"""A folder for a local stack that a test or a test run starts for itself, and a stack whose servers stay dead."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.stack import discard_stack, start_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor


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
