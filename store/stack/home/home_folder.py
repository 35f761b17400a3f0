"""The folder of a local stack: its sub-folders, and the secrets that are made once.

conf/    stack.json (ports, what was set up), and a file per server, written anew at each ``up``
secret/  root.password, query.password, instance.secret, queue.key: made once, mode 0600
data/    zookeeper, accumulo, kafka      log/  a log per server      run/  a pid file per server, restarts
tmp/     what Java leaves in its temporary folder; emptied by ``down``
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings


def write_file(path: Path, text: str, mode: int = 0o644) -> None:
    """Replaces a file in one step, and returns when the disk has it.

    At no time can more users read it than ``mode`` allows. Raises ``StackError`` if it cannot be written; the old file
    then stays.
    """
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StackError(f"{path} cannot be written: {error.strerror or error}") from error


def _sync_folder(folder: Path) -> None:
    """Returns when the disk has the names of the files in ``folder``."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folders(settings: Settings) -> None:
    """Makes all folders of a stack. Raises ``StackError`` if a folder cannot be made or written."""
    try:
        for name in ("conf", "data", "log", "run", "secret", "tmp"):
            folder = settings.home / name
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / ".writable"
            probe.touch()
            probe.unlink()
        settings.secret_folder.chmod(0o700)
        _sync_folder(settings.home)
        _sync_folder(settings.home.parent)
    except OSError as error:
        raise StackError(
            f"the stack's folder {settings.home} cannot be written: {error}; choose another --home"
        ) from error


def make_secrets(settings: Settings) -> None:
    """Draws the passwords, the instance's secret and the key of work items at random, unless they exist."""
    for name in ("root.password", "query.password", "instance.secret", "queue.key"):
        path = settings.secret_folder / name
        if not path.exists():
            write_file(path, secrets.token_urlsafe(24) + "\n", mode=0o600)
