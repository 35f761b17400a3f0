"""Tells whether a file can only have been written by the caller or by root, before its content is believed."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from watchfloor.schema.files.paths import show_path


def find_foreign_writer(path: Path) -> str | None:
    """Returns who besides the caller and root could have put a file or folder in its place; None if nobody.

    The file or folder and every folder above it must belong to the caller or root, and nobody else may write to it,
    because who can write to a folder can replace what is in it. A folder with the sticky bit, such as /tmp, may be
    writable: there nobody can replace what others own. A group that holds the caller alone counts as the caller.
    Symbolic links are followed, and who owns a link counts too. Raises ``OSError`` if the file does not exist.
    """
    real = path.resolve(strict=True)
    for part in (path.absolute(), *path.absolute().parents):
        if part.is_symlink() and (reason := _describe_owner(part, part.lstat())):
            return reason
    for part in (real, *real.parents):
        status = part.stat()
        if reason := _describe_owner(part, status) or _describe_writers(part, status):
            return reason
    return None


def _describe_owner(path: Path, status: os.stat_result) -> str | None:
    if status.st_uid in (0, os.geteuid()):
        return None
    return f"{show_path(path)} belongs to {_name_user(status.st_uid)}"


def _describe_writers(path: Path, status: os.stat_result) -> str | None:
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return None
    if status.st_mode & stat.S_IWOTH:
        return f"every user may write to {show_path(path)}"
    if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid):
        return f"a group of users may write to {show_path(path)}"
    return None


def _is_private_group(gid: int) -> bool:
    """Returns whether the caller is the only member of a group, as where each user has a group of the same name."""
    if gid == 0:
        return True
    try:
        caller = pwd.getpwuid(os.geteuid()).pw_name
        members = {*grp.getgrgid(gid).gr_mem, *(user.pw_name for user in pwd.getpwall() if user.pw_gid == gid)}
    except KeyError:
        return False
    return members == {caller}


def _name_user(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
