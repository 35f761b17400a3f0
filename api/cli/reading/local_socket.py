"""The socket by which a service answers commands of its own user, in a folder that only this user can enter.

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
from contextlib import contextmanager
from pathlib import Path

FOLDER, NAME = "run", "serve.sock"
"""The folder in that of the stack, and the name of the socket in it."""
_CREDENTIALS = struct.Struct("3i")  # pid, uid and gid, of ``unix(7)``
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
log = logging.getLogger(__name__)


@contextmanager
def open_socket_folder(home: Path) -> Iterator[int]:
    """Yields the descriptor of the folder. Raises ``OSError`` unless it is this user's and closed to all others."""
    folder = os.open(home / FOLDER, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check_private(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def name_in_folder(folder: int) -> str:
    """Returns a path of the socket in an open folder."""
    return f"/proc/self/fd/{folder}/{NAME}"


def connect_to_service(home: Path) -> socket.socket | None:
    """Returns a connection to the service of a stack's folder; None if no service of this user listens there."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        with open_socket_folder(home) as folder:
            status = os.stat(NAME, dir_fd=folder, follow_symlinks=False)
            _check_private(status)
            if stat.S_ISSOCK(status.st_mode):
                connection.settimeout(1.0)
                connection.connect(name_in_folder(folder))
                connection.settimeout(None)
                if is_own_user(connection):
                    return connection
                log.info("the service is not asked: another user listens at %s", home / FOLDER / NAME)
    except FileNotFoundError:
        pass  # there is no service
    except OSError as error:  # it has just ended, or the socket is not to be trusted
        log.info("the service is not asked: %s: %s", home / FOLDER / NAME, error)
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
