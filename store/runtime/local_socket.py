"""Sockets by which processes answer commands of their own user, in a folder that only this user can enter.

Both ends check that the other one is a process of the same user. The folder is opened first and then reached by its
descriptor, so that what was checked is what is used, and so that its path may be longer than the name of a socket.
"""

from __future__ import annotations

import logging
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = "run"
"""The folder in that of the stack."""
_CREDENTIALS = struct.Struct("3i")  # pid, uid and gid, of ``unix(7)``
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
log = logging.getLogger(__name__)


def socket_of_worker(name: str) -> str:
    """Returns the name of a standing worker's socket, which is there once the worker is ready."""
    return f"{name}.sock"


def list_worker_sockets(home: Path) -> list[str]:
    """Returns the names of the sockets of standing workers, in no order. Workers that were killed leave theirs."""
    return [path.name for path in (home / FOLDER).glob(socket_of_worker("worker*"))]


@contextmanager
def open_socket_folder(home: Path) -> Iterator[int]:
    """Yields the descriptor of the folder. Raises ``OSError`` unless it is this user's and closed to all others."""
    folder = os.open(home / FOLDER, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check_private(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def listen_in_folder(folder: int, name: str) -> socket.socket:
    """Returns a new socket in an open folder, in the place of one that a killed process has left.

    It takes connections once it is told to listen. The caller is the only process that uses the name.
    """
    listening = socket.socket(socket.AF_UNIX)
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    listening.bind(_name_in_folder(folder, name))
    Path(_name_in_folder(folder, name)).chmod(0o600)
    return listening


def remove_from_folder(folder: int, name: str) -> None:
    """Removes a socket from an open folder."""
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _name_in_folder(folder: int, name: str) -> str:
    """Returns a path of a socket in an open folder."""
    return f"/proc/self/fd/{folder}/{name}"


def connect_locally(home: Path, name: str) -> socket.socket | None:
    """Returns a connection to a socket in a stack's folder; None if no process of this user listens there."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        with open_socket_folder(home) as folder:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            _check_private(status)
            if stat.S_ISSOCK(status.st_mode):
                connection.settimeout(1.0)
                connection.connect(_name_in_folder(folder, name))
                connection.settimeout(None)
                if is_own_user(connection):
                    return connection
                log.info("nobody is asked: another user listens at %s", home / FOLDER / name)
    except FileNotFoundError:
        pass  # nobody is there
    except OSError as error:  # it has just ended, or the socket is not to be trusted
        log.info("nobody is asked: %s: %s", home / FOLDER / name, error)
    connection.close()
    return None


def is_own_user(connection: socket.socket) -> bool:
    """Returns whether the process at the other end belongs to the user of this one."""
    sent = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(sent)[1] == os.geteuid())


def _check_private(status: os.stat_result) -> None:
    """Raises ``OSError`` unless a file is this user's and closed to all others."""
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        raise PermissionError("other users may reach it")
