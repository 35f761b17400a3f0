"""Files in HDFS, written and read whole by clients in Java, and how complete they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchfloor.schema.settings.settings import Settings

from .client_process import run_client


@dataclass(frozen=True)
class FileTransfer:
    """Files that were written or read at once, and the seconds until the last one was."""

    bytes: int
    seconds: float

    @property
    def megabytes_per_second(self) -> float:
        return self.bytes / self.seconds / 1e6


def write_files(settings: Settings, folder: str, policy: str, files: int, megabytes: int) -> FileTransfer:
    """Writes a folder of so many files at once, of ``megabytes`` (MiB) together at least, and replaces what is there.

    ``folder`` is relative to the first of the instance's volumes; ``policy`` is that of erasure coding, empty for
    replicas. Raises ``StoreError``, and ``UserError`` if the volume is not in HDFS.
    """
    options = {"folder": folder, "policy": policy, "files": files, "chunks": -(-megabytes // files)}
    (record,) = run_client(settings, "hdfs.WriteFiles", options)
    return FileTransfer(record["bytes"], record["seconds"])


def read_files(settings: Settings, folder: str) -> FileTransfer:
    """Reads all files of a folder at once and compares each byte with what was written. Raises the same."""
    (record,) = run_client(settings, "hdfs.ReadFiles", {"folder": folder})
    return FileTransfer(record["bytes"], record["seconds"])


def table_folder(table_id: str) -> str:
    """Returns the folder of a table's files."""
    return f"tables/{table_id}"


def count_disk_bytes(settings: Settings, folder: str) -> int:
    """Returns the bytes that a folder's files take on the disks of all DataNodes, replicas and parity included."""
    (record,) = run_client(settings, "hdfs.DiskUsed", {"folder": folder}, heap="64m")
    return int(record["disk"])


def await_missing_parts(settings: Settings, folders: Sequence[str], limit: int) -> int:
    """Waits until files in the folders lack replicas or coded parts, and returns how many.

    Raises ``StoreError`` if they lack none after ``limit`` seconds.
    """
    return _await_parts(settings, folders, limit, is_lacking=True)


def count_missing_parts(settings: Settings, folders: Sequence[str]) -> int:
    """Returns how many replicas or coded parts the files in the folders lack now. Raises ``StoreError``."""
    return _await_parts(settings, folders, 0, is_lacking=True)


def await_all_parts(settings: Settings, folders: Sequence[str], limit: int) -> None:
    """Waits until no file in the folders lacks a part. Raises ``StoreError`` if one does after ``limit`` seconds."""
    _await_parts(settings, folders, limit, is_lacking=False)


def _await_parts(settings: Settings, folders: Sequence[str], limit: int, *, is_lacking: bool) -> int:
    options = {"folders": list(folders), "lacking": is_lacking, "limit": limit}
    (record,) = run_client(settings, "hdfs.AwaitParts", options)
    return int(record["missing"])
