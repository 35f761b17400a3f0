"""A command that reads data, with its options, as a service can be asked for it."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watchfloor.api.cli.terminal.rows import default_format

STREAMED = ("query", "stats")
WHOLE = ("explain", "explain_stats", "count", "top", "timeline", "find")


@dataclass(frozen=True)
class CommandQuestion:
    """``command`` is one of ``STREAMED``, whose rows are printed as they are found, or of ``WHOLE``.

    ``members`` are the members of the request that are not None, and ``form`` is the format of the rows.
    ``width`` is that of the terminal which shows the answer, in cells; None if it goes elsewhere.
    """

    command: str
    members: Mapping[str, Any]
    form: str
    width: int | None = None


def make_question(args: Namespace, command: str, members: Mapping[str, Any]) -> CommandQuestion:
    """Returns the question of a command line, whose other options say where the answer goes and in which format."""
    output = getattr(args, "output", None)
    form = getattr(args, "format", None) or default_format(output)
    width = shutil.get_terminal_size().columns if _is_terminal(output) else None
    return CommandQuestion(command, {name: value for name, value in members.items() if value is not None}, form, width)


def _is_terminal(output: str | None) -> bool:
    """Returns whether the file of this name, or standard output for None and ``-``, is a terminal."""
    if output is None or output == "-":
        return sys.stdout.isatty()
    try:
        if not Path(output).is_char_device():
            return False
        with Path(output).open("wb") as stream:
            return stream.isatty()
    except OSError:
        return False
