"""Finds the commands of the command line, and runs them in the tests' own process."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
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


def list_commands(
    parser: argparse.ArgumentParser | None = None, name: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yields every command and sub-command with its parser."""
    parser = parser or cli.CommandLine(cli.find_groups()).parser
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub, choice in action.choices.items():
                yield from list_commands(choice, f"{name} {sub}".strip())
