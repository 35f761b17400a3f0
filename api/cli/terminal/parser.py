"""A parser of command lines whose messages a terminal can show, whatever the arguments hold."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import NoReturn

from watchfloor.api.formats.visible import escape_line_controls


class CommandParser(ArgumentParser):
    """An ``ArgumentParser`` that writes out the control characters of the arguments that it refuses."""

    def error(self, message: str) -> NoReturn:
        super().error(escape_line_controls(message))
