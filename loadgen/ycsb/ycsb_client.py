"""Runs YCSB's own client on a table: its load phase, and its workloads.

The client is a Java process (``watchfloor.workload.ycsb``) that sets up a connection and then calls YCSB's ``main``
with our binding to Accumulo. YCSB writes its figures to a file, which is parsed here.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.jars import ycsb_class_path
from watchfloor.store.workloads.client_process import ClientProcess, start_client

from .output import PERCENTILES, YcsbOutput, parse_output
from .workloads import TABLE, YcsbWorkload

PUBLISHED_BUFFER = 100_000
"""The bytes of a client's buffer in YCSB's bindings to Accumulo, and in the study of 2014."""
_CLIENT = "ycsb.YcsbClient"
_HEAP_MB = 512
_SAID_CHARACTERS = 1000
"""The number of characters of YCSB's own messages, from their end, that an error has."""


@dataclass(frozen=True)
class LoadRequest:
    """A new table of records, split into ``tablets``; ``field_length`` is in bytes.

    ``again`` drops a table of that name that was loaded before.
    """

    table: str = TABLE
    records: int = 10_000
    fields: int = 10
    field_length: int = 100
    tablets: int = 20
    threads: int = 1
    again: bool = False


@dataclass(frozen=True)
class RunRequest:
    """A run of a workload by so many threads.

    ``target`` is the number of operations a second that all threads together aim at; None is as fast as they can.
    ``flush`` makes each write wait until a tablet server has it; otherwise it is done once it is in the buffer of its
    thread, which has ``buffer`` bytes.
    """

    workload: YcsbWorkload
    table: str = TABLE
    operations: int = 10_000
    threads: int = 1
    target: int | None = None
    flush: bool = False
    buffer: int = PUBLISHED_BUFFER


@dataclass(frozen=True)
class YcsbResult:
    """A run that has ended. ``failure`` says why the first of the operations that failed did; "" if none has."""

    output: YcsbOutput
    failure: str

    @property
    def failures(self) -> int:
        """The number of operations that are known to have failed. What fails when a buffer is closed counts as one."""
        return max(self.output.failures, int(bool(self.failure)))


def load_records(settings: Settings, request: LoadRequest, keep: Path | None = None) -> YcsbResult:
    """Creates a table and loads it by YCSB. ``keep`` is a file that gets YCSB's own output.

    Raises ``StoreError``, and ``UserError`` if the table exists or for numbers that cannot be.
    """
    with start_load(settings, request) as run:
        return run.finish(request.records, keep)


@contextmanager
def start_load(settings: Settings, request: LoadRequest) -> Iterator[YcsbRun]:
    """Starts a load; see ``load_records``."""
    _require_positive(request, "records", "fields", "field_length", "tablets", "threads")
    options = {
        "phase": "load",
        "table": request.table,
        "records": request.records,
        "fields": request.fields,
        "fieldLength": request.field_length,
        "tablets": request.tablets,
        "again": request.again,
    }
    properties = {"threadcount": str(request.threads), "watchfloor.buffer": str(PUBLISHED_BUFFER)}
    with _start_ycsb(settings, options, properties) as run:
        yield run


def run_workload(settings: Settings, request: RunRequest, keep: Path | None = None) -> YcsbResult:
    """Runs a workload on a table that was loaded. ``keep`` is a file that gets YCSB's own output.

    Raises ``StoreError``, and ``UserError`` if the table was not loaded or for numbers that cannot be.
    """
    with start_workload(settings, request) as run:
        return run.finish(request.operations, keep)


@contextmanager
def start_workload(settings: Settings, request: RunRequest) -> Iterator[YcsbRun]:
    """Starts a workload; see ``run_workload``."""
    _require_positive(request, "operations", "threads", "buffer")
    if request.target is not None:
        _require_positive(request, "target")
    properties = {
        **request.workload.properties,
        "operationcount": str(request.operations),
        "threadcount": str(request.threads),
        "watchfloor.buffer": str(request.buffer),
        "watchfloor.flush": str(request.flush).lower(),
        **({} if request.target is None else {"target": str(request.target)}),
    }
    # Each thread's buffer may be full, and on its way to the servers once more; records are taken to have some KB.
    heap = _HEAP_MB + min(request.threads * request.buffer, request.operations * 4096) * 3 // 1_000_000
    with _start_ycsb(settings, {"phase": "run", "table": request.table}, properties, heap) as run:
        yield run


class YcsbRun:
    """A client that runs; see ``start_load`` and ``start_workload``."""

    def __init__(self, client: ClientProcess, folder: Path) -> None:
        self._client, self._folder = client, folder

    @property
    def pid(self) -> int:
        return self._client.pid

    def finish(self, operations: int, keep: Path | None = None) -> YcsbResult:
        """Waits for the end of the client and returns its figures.

        Raises ``StoreError`` if it did not do all its ``operations``, and says what YCSB said.
        """
        failures = [record["failure"] for record in self._client.read_records() if "failure" in record]
        exported = self._folder / "ycsb.txt"
        try:
            output = parse_output(exported.read_text("utf-8"))
        except (OSError, ValueError):
            output = None
        # A thread that cannot begin ends, and YCSB does without it.
        if output is None or round(output.operations_per_second * output.seconds) < operations:
            raise StoreError(f"YCSB did not run to its end: {'; '.join(failures) or self._read_log()}")
        if keep is not None:
            shutil.copyfile(exported, keep)
        return YcsbResult(output, failures[0] if failures else "")

    def _read_log(self) -> str:
        lines = (self._folder / "ycsb.log").read_text("utf-8", "replace").splitlines()
        return " / ".join(line.strip() for line in lines if line.strip())[-_SAID_CHARACTERS:]


@contextmanager
def _start_ycsb(
    settings: Settings, options: Mapping[str, Any], properties: Mapping[str, str], heap: int = _HEAP_MB
) -> Iterator[YcsbRun]:
    """Starts YCSB's client in a folder of its own; ``heap`` is in MB."""
    with tempfile.TemporaryDirectory(prefix="watchfloor-ycsb-") as name:
        folder = Path(name)
        measured = {
            "measurementtype": "hdrhistogram",
            "hdrhistogram.percentiles": ",".join(PERCENTILES),
            # Both from the beginning of an operation and from when it was due; without a target they are the same.
            "measurement.interval": "both",
            "reportlatencyforeacherror": "true",
            "exportfile": str(folder / "ycsb.txt"),
        }
        given = {
            **options,
            "log": str(folder / "ycsb.log"),
            "properties": [f"{name}={value}" for name, value in (measured | dict(properties)).items()],
        }
        path = ycsb_class_path(settings.jars)
        with start_client(settings, _CLIENT, given, heap=f"{heap}m", class_path=path) as client:
            yield YcsbRun(client, folder)


def _require_positive(request: LoadRequest | RunRequest, *names: str) -> None:
    for name in names:
        if (value := getattr(request, name)) < 1:
            raise UserError(f"{name.replace('_', ' ')} is {value}; at least 1 is wanted")
