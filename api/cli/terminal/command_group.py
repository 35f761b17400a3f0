"""The contract of a group of commands, and the exit statuses of all commands."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Protocol

OK, PARTLY, USER, OPERATOR, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130
"""Exit statuses. PARTLY: something was quarantined or failed, or a deadline cut the answer. USER: the request must
change. OPERATOR: the installation must change. INTERNAL: a fault of Watchfloor."""

RunCommand = Callable[[Namespace], int | None]
"""A function that runs a command and returns its exit status; None stands for OK."""


class AddCommand(Protocol):
    """Adds a command to the command line."""

    def __call__(self, name: str, run: RunCommand, summary: str, *, reads_arguments: bool = False) -> ArgumentParser:
        """Returns the command's parser, for its options.

        ``summary`` describes the command in ``--help``. With ``reads_arguments`` the command parses its own arguments:
        ``run`` gets all that follows the command's name in ``args.rest``.
        """
        ...


class CommandGroup(Protocol):
    """A module of ``commands/``, or of the entry points ``watchfloor.commands`` of rooms above this one."""

    POSITION: int
    """``--help`` lists the groups in ascending order of their positions."""

    def register(self, add: AddCommand) -> None:
        """Adds the group's commands."""
        ...
