"""The folder of a local stack: its sub-folders, and the secrets that are made once.

conf/    stack.json (ports, what was set up), and a file per server, written anew at each ``up``
secret/  passwords and keys, made once; servers.jaas, written anew at each ``up``
data/    zookeeper, accumulo, kafka      log/  a log per server      run/  a pid file per server, restarts
tmp/     what Java leaves in its temporary folder; emptied by ``down``

Only its owner can open anything in it: folders have mode 0700 and files 0600, whatever the caller's umask.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import describe_error, show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import make_private_folder, sync_folder, write_private

QUERY_LOG = Path("logs") / "queries.jsonl"
"""The place in the stack's folder of the log in which services write each query that they have answered."""
_SECRETS = (
    "root.password",
    "query.password",
    "instance.secret",
    "zookeeper-server.password",
    "zookeeper-client.password",
    "kafka-admin.password",
    "kafka.password",
    "queue.key",
    "tls.password",
    "kdc.password",
    "hdfs-web.key",
)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folders(settings: Settings) -> None:
    """Makes all folders of a stack.

    Raises ``StackError`` if a folder cannot be made or written, if the stack's folder is a symbolic link, or if it
    belongs to another user.
    """
    home = settings.home
    try:
        make_private_folder(home)
        _check_owner(home)
        for name in ("conf", "data", "log", "run", "secret", "tmp"):
            make_private_folder(home / name)
            probe = home / name / ".writable"
            probe.touch(mode=0o600)
            probe.unlink()
        sync_folder(home)
        sync_folder(home.parent)
    except OSError as error:
        raise StackError(
            f"the stack's folder {show_path(home)} cannot be written: {describe_error(error)}; choose another --home"
        ) from error


def _check_owner(home: Path) -> None:
    """Raises ``StackError`` unless a folder is the caller's own and no symbolic link."""
    status = home.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise StackError(
            f"the stack's folder {show_path(home)} is a symbolic link: name the folder itself, "
            f"{show_path(home.resolve())}"
        )
    if stat.S_ISDIR(status.st_mode) and status.st_uid != os.geteuid():
        raise StackError(
            f"the stack's folder {show_path(home)} belongs to user {status.st_uid}: run this as that user, "
            "or choose another --home"
        )


def close_home(settings: Settings) -> int:
    """Takes the rights of other users away from all files and folders of a stack.

    Returns the number of files and folders that others could open. Raises ``StackError`` if one cannot be changed.
    """
    opened = 0
    for path, status in _walk(settings.home):
        if not stat.S_ISLNK(status.st_mode) and status.st_mode & _OTHERS:
            try:
                Path(path).chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StackError(
                    f"other users can open {show_path(path)}, and that cannot be changed: {describe_error(error)}"
                ) from error
            opened += 1
    return opened


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yields a folder and all that is below it, each with its status, without following links.

    What vanishes meanwhile, as files of running servers do, is left out.
    """
    yield str(folder), folder.lstat()
    left = [str(folder)]
    while left:
        with suppress(FileNotFoundError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    yield entry.path, entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)


def make_secrets(settings: Settings) -> None:
    """Draws the passwords, the instance's secret and the key of work items at random, unless they exist."""
    for name in _SECRETS:
        path = settings.secret_folder / name
        if not path.exists():
            write_private(path, secrets.token_urlsafe(24) + "\n")
