"""The options of the suite: a table, and a load of look-ups. They refuse what cannot be."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal, get_args

from watchfloor.schema.errors import UserError

DEFAULT_TABLE = "bench_lookups"
CODECS = ("gz", "none", "snappy", "zstd", "lz4")
State = Literal["as-is", "cold", "warm"]
"""The state of the caches: what they happen to hold, nothing of the table, or what will be asked for."""
STATES: tuple[State, ...] = get_args(State)
WRITERS = os.cpu_count() or 1
"""By default as many files are written at once as there are processors."""
_NAME = re.compile("[A-Za-z0-9_]+")


@dataclass(frozen=True)
class LookupTable:
    """A table for look-ups, of rows of ten columns. A row is a pure function of its number, of ``rows`` and ``seed``.

    ``codec`` compresses the blocks of its files. Each of ``tablets`` has as many rows, to one, as every other.
    ``policy`` is that of erasure coding of its files in HDFS, empty for replicas. Tablet servers keep blocks that they
    have read in memory if it is ``cached``.
    """

    name: str = DEFAULT_TABLE
    rows: int = 1_000_000
    codec: str = "gz"
    tablets: int = 8
    seed: int = 1
    policy: str = ""
    cached: bool = True

    def __post_init__(self) -> None:
        check_table_name(self.name)
        _check_range("rows", self.rows, 10**12)
        _check_range("tablets", self.tablets, 100_000)
        if self.codec not in CODECS:
            raise UserError(f"--codec {self.codec!r}: it is one of {', '.join(CODECS)}")

    def list_properties(self) -> list[str]:
        """Returns the properties of the table, ``NAME=VALUE``."""
        coding = ["table.file.ec=enable", f"table.file.ec.policy={self.policy}"] if self.policy else []
        cache = f"table.cache.block.enable={str(self.cached).lower()}"
        return [f"table.file.compress.type={self.codec}", cache, *coding]


@dataclass(frozen=True)
class LookupLoad:
    """The load, by default the study's: ``executors`` that each look up ``batch`` random rows ``queries`` times.

    The executors are threads of ``processes`` Java processes. ``threads`` are those of a BatchScanner, of which each
    look-up makes one. ``seed`` decides which rows are drawn. ``warm_up`` are the seconds for which each executor looks
    up the first rows of the table beforehand, so that all code is compiled.
    """

    executors: int = 16
    queries: int = 10_000
    batch: int = 10
    threads: int = 3
    processes: int = 1
    seed: int = 1
    warm_up: float = 2.0

    def __post_init__(self) -> None:
        for name, most in (("executors", 10_000), ("queries", 10**9), ("batch", 100_000), ("threads", 1000)):
            _check_range(name, getattr(self, name), most)
        if not 1 <= self.processes <= self.executors:
            raise UserError(f"--processes is {self.processes}; each needs one of the {self.executors} executors")
        if not 0 <= self.warm_up <= 600:
            raise UserError(f"--warm-up is {self.warm_up:g}; it lies between 0 and 600 seconds")


def check_writers(writers: int) -> None:
    """Raises ``UserError`` for a number of files that cannot be written at once."""
    _check_range("writers", writers, 1000)


def check_table_name(table: str) -> None:
    """Raises ``UserError`` for a name that may be one of the pipeline's tables."""
    if not _NAME.fullmatch(table):
        raise UserError(
            f"--table {table!r}: a table of this suite is named by letters, digits and _, without a namespace, so that "
            "it is none of the pipeline's"
        )


def _check_range(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise UserError(f"--{name} is {value:,}; it lies between 1 and {most:,}")
