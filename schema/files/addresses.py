"""Addresses of log files that are not files of this host. All functions are pure."""

from __future__ import annotations

import re

S3, HDFS = "s3://", "hdfs://"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_HOST = re.compile(r"[A-Za-z0-9._-]*(:[0-9]{1,5})?")


def is_address(path: str) -> bool:
    """Returns whether a path is an address."""
    return path.startswith((S3, HDFS))


def find_fault(address: str) -> str:
    """Returns what is wrong with an address; empty if it can be that of a file."""
    if fault := find_fault_of_place(address):
        return fault
    parts = address.partition("://")[2].split("/")[1:]
    return "" if parts and {"", ".", ".."}.isdisjoint(parts) and "\0" not in address else "it does not name a file"


def find_fault_of_place(pattern: str) -> str:
    """Returns what is wrong with the bucket or host in an address or a pattern of addresses; empty if nothing is."""
    scheme = S3 if pattern.startswith(S3) else HDFS
    place = pattern.removeprefix(scheme).partition("/")[0]
    if "@" in place:
        return "keys and passwords do not belong into an address: they come from the environment, or a keytab"
    if not (_BUCKET if scheme == S3 else _HOST).fullmatch(place):
        return "it has no bucket's name after s3://" if scheme == S3 else "it has no host and port after hdfs://"
    return ""
