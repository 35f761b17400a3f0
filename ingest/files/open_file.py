"""Opens log files without following symbolic links, so that what is checked is what is read.

A path may lead through folders that other users can write. Whoever can write a folder can put a link in the place of a
file, or of a folder, at any moment. Therefore each part of a path is opened relative to the one before and must not be
a link (``openat`` with ``O_NOFOLLOW``), and whatever concerns one file uses one open file: its format, identity and
ranges; or its content's check and its lines. Paths that an operator names may have links in them: they are resolved
once, when the operator names them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from watchfloor.schema.errors import InputFileError, UnreachableFileError
from watchfloor.schema.files.addresses import is_address
from watchfloor.schema.files.paths import show_path

from .remote.remote_log import fetch_remote, read_remote_state
from .remote.remote_systems import RemoteState

FileOrPath = str | Path | FileIO
"""A file to read: the path that a user names, or a file that is open already."""
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""``O_PATH``: a folder on the way need not be readable; the right to search it is enough."""
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class OpenLog(FileIO):
    """An open log file, or an open archive of which the log ``member`` is to be read.

    ``member`` is empty for a file that is a log itself. ``remote`` is the state of a file that was fetched; if
    ``is_cut``, only its beginning was.
    """

    member = ""
    is_cut = False
    remote: RemoteState | None = None


def name_log(file: FileIO) -> str:
    """Returns the path of an open file, followed by the member of it that is read, as if the archive were a folder."""
    member = file.member if isinstance(file, OpenLog) else ""
    return join_member(str(file.name), member)


def join_member(path: str, member: str) -> str:
    """Returns the name of a member of the archive ``path``; the path itself if ``member`` is empty."""
    return f"{path}/{member}" if member else path


@contextmanager
def open_file_or_path(file_or_path: FileOrPath) -> Iterator[FileIO]:
    """Yields a file at its beginning: ``file_or_path`` itself, which stays open, or the file that a path names.

    Links in the path are resolved. Raises ``InputFileError``.
    """
    if isinstance(file_or_path, FileIO):
        file_or_path.seek(0)
        yield file_or_path
    else:
        with open_log_file(resolve_path(file_or_path)) as file:
            yield file


def read_state(file: FileIO) -> os.stat_result | RemoteState:
    """Returns the state of an open file; that of a remote file is as it was fetched."""
    remote = file.remote if isinstance(file, OpenLog) else None
    return os.fstat(file.fileno()) if remote is None else remote


def resolve_path(path: str | Path) -> str:
    """Returns the absolute path, without links, of the file that a user names; an address as it is."""
    if isinstance(path, str) and is_address(path):
        return path
    return os.path.realpath(os.fspath(path))


def open_log_file(
    path: str, member: str = "", span: tuple[int, int, RemoteState] | None = None, most: int | None = None
) -> OpenLog:
    """Opens a regular file for reading; its ``name`` is ``path``, which must be absolute and without links.

    ``member`` is the log in it that is to be read, if it is an archive. ``path`` may be the address of a remote file:
    then it is fetched, with ``span`` perhaps only in part (``fetch_remote``), with ``most`` only so many bytes of it.

    Raises ``UnreachableFileError`` if this host cannot open it, or if a part of ``path`` is a link. Raises
    ``InputFileError`` for anything but a regular file (a FIFO would block, a device may have no end), and for a file
    with several hard links if another user may have made one of them.
    """
    if is_address(path):
        fetched, state = fetch_remote(path, span, most)
        file = OpenLog(path, opener=lambda _path, _flags: fetched)
        file.member, file.remote, file.is_cut = member, state, most is not None and most < state.st_size
        return file
    try:
        with _open_folder(path) as (folder, name):
            _check_file(path, os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(folder))
            descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
            try:
                # Another file may have come into its place since.
                _check_file(path, os.fstat(descriptor), os.fstat(folder))
            except BaseException:
                os.close(descriptor)
                raise
    except OSError as error:
        raise UnreachableFileError(show_path(path), _describe_error(error)) from error
    file = OpenLog(path, opener=lambda _path, _flags: descriptor)
    file.member = member
    return file


def stat_log_file(path: str) -> os.stat_result | RemoteState | None:
    """Returns the state of a file; None if there is none that can be read, or if a part of ``path`` is a link."""
    if is_address(path):
        with suppress(InputFileError):
            return read_remote_state(path)
        return None
    try:
        with _open_folder(path) as (folder, name):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


@contextmanager
def _open_folder(path: str) -> Iterator[tuple[int, str]]:
    """Yields a descriptor of the folder of ``path``, reached without following links, and the file's name in it."""
    root, *parts = path.split("/")
    if root or not parts or not {"", ".", ".."}.isdisjoint(parts):
        raise OSError(errno.EINVAL, "its path is not absolute, or not in its shortest form")
    folder = os.open("/", _FOLDER_FLAGS)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, parts[-1]
    finally:
        os.close(folder)


def _check_file(path: str, file: os.stat_result, folder: os.stat_result) -> None:
    """Raises ``InputFileError`` unless it is a regular file that whoever may read it has put there.

    A hard link brings a file of somebody else into a folder, with its owner and mode. It counts as made by the file's
    owner, by this process's user or by root only if nobody else can write the folder.
    """
    if not stat.S_ISREG(file.st_mode):
        raise InputFileError(f"{show_path(path)}: is {_describe_type(file.st_mode)}; give log files")
    trusted = (0, os.geteuid(), file.st_uid)
    if file.st_nlink > 1 and (folder.st_mode & _OTHERS_WRITE or folder.st_uid not in trusted):
        raise InputFileError(
            f"{show_path(path)}: has {file.st_nlink} hard links and stands in a folder that others can write, "
            "so it may be a file that they must not read; load a copy of it"
        )


def _describe_type(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link, which is not followed here"
    return "a folder" if stat.S_ISDIR(mode) else "not a regular file"


def _describe_error(error: OSError) -> str:
    # What O_NOFOLLOW says of a link: ENOTDIR with O_DIRECTORY, else ELOOP.
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a part of the path is a symbolic link or no folder"
    return error.strerror or str(error)
