"""Runs commands of the command line in the tests' own process."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout

from watchfloor.api.cli import main as cli
from watchfloor.schema.settings.settings import Settings


def run_command(settings: Settings, *arguments: str) -> tuple[int, str, str]:
    """Runs a command in this process, whose JVM is warm. Returns exit status, standard output and standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.main(["--home", str(settings.home), *arguments])
        out.flush()
    return status, out.buffer.getvalue().decode(), err.getvalue()  # type: ignore[attr-defined]
