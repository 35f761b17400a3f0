"""A service over a fake store that answers commands on its local socket, and commands that may ask it."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rest_fakes import FakeService, FakeServices, FakeTokens
from served import serve_app

from watchfloor.api.cli import main as cli
from watchfloor.api.cli.reading import ask
from watchfloor.api.rest.app import make_app, make_command_app
from watchfloor.api.rest.base.context import RestContext
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.schema.settings.load import load_settings

_DURATION = re.compile(r"[0-9.,]+ (s|ms|rows/s)\b")
_ARROW = b"\xff\xff\xff\xff"
"""The first bytes of a stream of record batches."""
Printed = tuple[int, bytes, str]
"""The exit status of a command, what it has written to standard output, and to standard error without durations."""


@contextmanager
def serve_commands(service: FakeService, home: Path, limits: RestLimits | None = None) -> Iterator[FakeServices]:
    """Answers commands on the local socket of a stack's folder by ``service`` while the ``with`` block runs."""
    settings, limits = load_settings(home=home), limits or RestLimits()
    services = FakeServices(service)
    context = RestContext(services, FakeTokens(), limits, settings)
    commands = make_command_app(context, settings)
    with serve_app(make_app(context), limits, local=(commands, settings.home)):
        yield services


class _Screen(io.BytesIO):
    """Standard output that says whether it is a terminal."""

    is_terminal = False

    def isatty(self) -> bool:
        return self.is_terminal


def print_command(home: Path, line: Sequence[str], terminal: bool = False) -> Printed:
    """Runs a command in this process and returns what it prints."""
    screen, err = _Screen(), io.StringIO()
    screen.is_terminal = terminal
    out = io.TextIOWrapper(screen, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        status = cli.main(["--home", str(home), *line])
        out.flush()
    return status, screen.getvalue(), _DURATION.sub("T", err.getvalue())


def join_batches(printed: Printed) -> Printed:
    """Returns what a command has printed, with the rows of Arrow's format in one batch.

    In how many batches they come from a store depends on when its servers answer.
    """
    status, written, said = printed
    if not written.startswith(_ARROW):
        return printed
    rows, joined = pa.ipc.open_stream(written).read_all().combine_chunks(), pa.BufferOutputStream()
    with pa.ipc.new_stream(joined, rows.schema) as stream:
        stream.write_table(rows)
    return status, joined.getvalue().to_pybytes(), said


@contextmanager
def no_store() -> Iterator[None]:
    """Within the block a command that opens a store by itself fails."""

    def refuse(args: Any) -> Any:
        raise AssertionError("the command has opened a store")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ask, "open_service", refuse)
        yield


def client_environment() -> dict[str, str]:
    """Returns the environment of a process that may import what tests import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
