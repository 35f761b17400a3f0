"""A folder for a local stack that a test or a test run starts for itself."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.stack.stack import stop_stack


@contextmanager
def stack_folder() -> Iterator[Settings]:
    """Yields the settings of a stack that may be started; removes all that is left of it at the end.

    The folder is not in pytest's own temporary folder: other runs delete all but the last few of those, even in use.
    """
    home = Path(tempfile.mkdtemp(prefix="watchfloor-test-"))
    settings = load_settings(home=home)
    try:
        yield settings
    finally:
        # Killed first: `down` would wait until all tablets are written out, to be deleted.
        for pid_file in (home / "run").glob("*.json"):
            if process := find_process(pid_file):
                process.kill()
        stop_stack(settings)
        shutil.rmtree(home, ignore_errors=True)
