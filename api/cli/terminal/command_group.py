"""The contract of a group of commands, and the exit statuses of all commands."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Protocol

OK, PARTLY, USER, OPERATOR, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130
"""Exit statuses. PARTLY: something was quarantined or failed, or a deadline cut it off. USER: the request must change.
OPERATOR: the installation must change. INTERNAL: a fault of Watchfloor."""

RunCommand = Callable[[Namespace], int | None]
"""Runs a command and returns its exit status; None is OK."""


class AddCommand(Protocol):
    """Adds a command to the command line."""

    def __call__(self, name: str, run: RunCommand, summary: str, *, reads_arguments: bool = False) -> ArgumentParser:
        """Returns the command's parser, for its options.

        With ``reads_arguments`` the command parses its own: ``run`` finds all that follows its name in ``args.rest``.
        """
        ...


class CommandGroup(Protocol):
    """A module of ``commands/``, or of the entry points ``watchfloor.commands`` of rooms above this one."""

    POSITION: int
    """Groups stand in ``--help`` in this order."""

    def register(self, add: AddCommand) -> None:
        """Adds the group's commands."""
        ...
