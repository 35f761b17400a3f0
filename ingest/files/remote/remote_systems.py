"""The systems that hold remote files: S3 by pyarrow, and HDFS by Hadoop's client in the JVM.

Where S3 is, and with which keys and region, is in the environment (``AWS_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``,
``AWS_SECRET_ACCESS_KEY``, ``AWS_DEFAULT_REGION``) or in the files of Amazon's own tools. Where HDFS is, is in Hadoop's
configuration of the store.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import NamedTuple, Protocol

import pyarrow as pa
from pyarrow import fs

from watchfloor.schema.errors import StoreError, UnreachableFileError
from watchfloor.schema.files.addresses import HDFS, S3
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.text import shorten
from watchfloor.store.bridge.hadoop_files import fetch_file, find_files, read_file_state

_PART_BYTES = 8 << 20
_PARTS_AT_ONCE = 4
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 60


class RemoteState(NamedTuple):
    """The state of a remote file, by the names of ``os.stat_result``; ``st_ino`` tells versions of it apart."""

    st_size: int
    st_ino: int
    st_mtime_ns: int
    st_ctime_ns: int = 0


class RemoteSystem(Protocol):
    """Reads files by their addresses. Its methods raise ``UnreachableFileError``."""

    def find_files(self, pattern: str) -> Sequence[str]:
        """Returns the addresses of the files that a pattern names, or of all below a folder, sorted."""

    def read_state(self, address: str) -> RemoteState:
        """Returns the state of a file as it is now."""

    def fetch_range(self, address: str, start: int, end: int, target: int) -> None:
        """Writes the bytes [start, end) of a file to the same place of the open file ``target``."""


def find_system(address: str) -> RemoteSystem:
    """Returns the system that holds a file."""
    return _S3() if address.startswith(S3) else _Hdfs()


class _S3:
    def find_files(self, pattern: str) -> Sequence[str]:
        path = pattern.removeprefix(S3)
        bucket, _, key = path.partition("/")
        literal = key
        if magic := glob.has_magic(key):
            literal = key[: min(key.find(sign) for sign in "*?[" if sign in key)]
        folder = f"{bucket}/{literal.rpartition('/')[0]}".rstrip("/") if magic else path.rstrip("/")
        with _translate_errors(pattern):
            if not magic and key and not key.endswith("/"):
                return [pattern]
            found = _open_s3().get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
        names = sorted(info.path for info in found if info.is_file)
        return [S3 + name for name in names if not magic or _fits_pattern(name.partition("/")[2], key)]

    def read_state(self, address: str) -> RemoteState:
        with _translate_errors(address), _open_s3().open_input_file(address.removeprefix(S3)) as file:
            return _read_s3_state(file)

    def fetch_range(self, address: str, start: int, end: int, target: int) -> None:
        with _translate_errors(address), _open_s3().open_input_file(address.removeprefix(S3)) as file:

            def fetch_part(at: int) -> None:
                data = memoryview(file.read_at(min(_PART_BYTES, end - at), at))
                while data:
                    written = os.pwrite(target, data, at)
                    data, at = data[written:], at + written

            with ThreadPoolExecutor(_PARTS_AT_ONCE, "s3") as threads:
                list(threads.map(fetch_part, range(start, end, _PART_BYTES)))


class _Hdfs:
    def find_files(self, pattern: str) -> Sequence[str]:
        with _translate_errors(pattern):
            return find_files(pattern.rstrip("/"))

    def read_state(self, address: str) -> RemoteState:
        with _translate_errors(address):
            size, mtime_ms, file_id = read_file_state(address)
        return RemoteState(size, file_id, mtime_ms * 1_000_000)

    def fetch_range(self, address: str, start: int, end: int, target: int) -> None:
        with _translate_errors(address):
            fetch_file(address, start, end, target)


@cache
def _open_s3() -> fs.S3FileSystem:
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return fs.S3FileSystem(
        endpoint_override=endpoint, connect_timeout=_CONNECT_SECONDS, request_timeout=_ANSWER_SECONDS
    )


def _read_s3_state(file: pa.NativeFile) -> RemoteState:
    known = {name.lower(): value for name, value in file.metadata().items()}
    tag = known.get("etag", b"") + known.get("versionid", b"")
    changed = datetime.fromisoformat(known["last-modified"].decode())
    # Seven bytes are a positive number for every reader.
    return RemoteState(
        file.size(), int.from_bytes(blake2b(tag, digest_size=7).digest()), int(changed.timestamp()) * 1_000_000_000
    )


def _fits_pattern(key: str, pattern: str) -> bool:
    """Returns whether a key fits a pattern, whose ``*`` stays within a part unless it is ``**``."""
    parts, wanted = key.split("/"), pattern.split("/")
    if "**" in wanted:
        return fnmatch.fnmatchcase(key, pattern.replace("**/", "*"))
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


@contextmanager
def _translate_errors(address: str) -> Iterator[None]:
    """Translates errors, which name the address and the system's answer."""
    try:
        yield
    except FileNotFoundError:
        raise UnreachableFileError(show_path(address), "there is no such file") from None
    except (OSError, StoreError) as error:
        system = "HDFS" if address.startswith(HDFS) else "S3"
        raise UnreachableFileError(show_path(address), f"{system} answers: {shorten(str(error), 300)}") from error
