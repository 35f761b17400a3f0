"""The command ``watchfloor``: finds the groups of commands, parses the command line and runs one command.

Standard output carries data only; progress, summaries and errors go to standard error. ``terminal/command_group.py``
defines the exit statuses.
"""

from __future__ import annotations

import argparse
import logging
import os
import pkgutil
import select
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from watchfloor.api.cli.terminal.command_group import (
    INTERNAL,
    INTERRUPTED,
    OK,
    OPERATOR,
    USER,
    CommandGroup,
    RunCommand,
)
from watchfloor.api.cli.terminal.parser import CommandParser
from watchfloor.api.formats.visible import escape_line_controls
from watchfloor.schema.errors import OperatorError, UserError, WatchfloorError
from watchfloor.store.runtime.lean_process import leave_out_pandas

COMMANDS_FOLDER = "watchfloor.api.cli.commands"
ENTRY_POINTS = "watchfloor.commands"
QUICK_COMMANDS = {"query": "events", **dict.fromkeys(("count", "top", "timeline", "find"), "counts"), "load": "ingest"}
"""The module of each command whose start is waited for, because a running service answers it, or its workers start with
it: importing all the others would take longer than that."""

_CLOSED = (
    "a server or process of Watchfloor closed its connection in the middle of a request: "
    "`watchfloor status` says which servers run; then run the command again"
)


class CommandLine:
    """The parser of all commands. Global options may stand before or after the command.

    ``raw_commands`` are the commands that read their own arguments.
    """

    def __init__(self, groups: Sequence[CommandGroup]) -> None:
        self.parser = _make_root_parser()
        self.raw_commands: set[str] = set()
        self._shared = argparse.ArgumentParser(add_help=False)
        _add_global_options(self._shared, argparse.SUPPRESS)
        self._commands = self.parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
        for group in groups:
            group.register(self._add_command)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Returns the parsed options, with ``rest`` for a command that reads its own arguments.

        Prints a message and exits with USER if the arguments do not fit.
        """
        own, rest = self._split_arguments(list(arguments))
        args = self.parser.parse_args(_join_dashes(own))
        args.rest = rest
        return args

    def _add_command(
        self, name: str, run: RunCommand, summary: str, *, reads_arguments: bool = False
    ) -> argparse.ArgumentParser:
        command = self._commands.add_parser(
            name, help=summary, description=summary, parents=[self._shared], allow_abbrev=False
        )
        command.set_defaults(run=run)
        if reads_arguments:
            self.raw_commands.add(name)
        return command

    def _split_arguments(self, arguments: list[str]) -> tuple[list[str], list[str]]:
        """Returns the arguments for argparse, and those after the name of a command that reads its own arguments."""
        start = _find_command(arguments)
        is_raw = start < len(arguments) and arguments[start] in self.raw_commands
        end = start + 1 if is_raw else len(arguments)
        return arguments[:end], arguments[end:]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status.

    Without ``argv`` it reads the process's arguments, and if the command has started a JVM, it ends the process.
    """
    if argv is None:
        leave_out_pandas()
    arguments = sys.argv[1:] if argv is None else argv
    args = CommandLine(_find_needed_groups(arguments)).parse(arguments)
    _configure_logging(args.verbose)
    try:
        status = args.run(args) or OK
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        if _has_reader(sys.stdout.fileno()):
            status = _report_error(OperatorError(_CLOSED), args.verbose)
        else:
            # Python flushes at exit, which would raise the error once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = OK
    except WatchfloorError as error:
        status = _report_error(error, args.verbose)
    if argv is None and "jpype" in sys.modules:
        # Threads of the JVM that call into Python while Python shuts down would abort the process.
        logging.shutdown()
        sys.stderr.flush()
        os._exit(status)
    return status


def _has_reader(descriptor: int) -> bool:
    """Returns False if the reader of a pipe or socket has closed it."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return not poll.poll(0)


def _find_needed_groups(arguments: Sequence[str]) -> list[CommandGroup]:
    """Returns the group of a quick command, which alone need be imported; else all groups."""
    start = _find_command(arguments)
    if start < len(arguments) and (group := QUICK_COMMANDS.get(arguments[start])):
        found: Any = import_module(f"{COMMANDS_FOLDER}.{group}")
        return [found]
    return find_groups()


def _find_command(arguments: Sequence[str]) -> int:
    """Returns the place of the command's name, which global options may stand before."""
    start = 0
    while start < len(arguments) and arguments[start].startswith("-"):
        start += 2 if arguments[start] in ("--home", "--config") else 1
    return start


def find_groups() -> list[CommandGroup]:
    """Returns the modules of ``commands/`` and of the entry points of other rooms, by their ``POSITION``."""
    from importlib.metadata import entry_points  # takes longer to import than a quick command takes in all

    folder = import_module(COMMANDS_FOLDER)
    names = [f"{COMMANDS_FOLDER}.{module.name}" for module in pkgutil.iter_modules(folder.__path__)]
    names += [point.module for point in entry_points(group=ENTRY_POINTS)]
    groups: list[Any] = [import_module(name) for name in names]
    return sorted(groups, key=lambda group: group.POSITION)


def _make_root_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="watchfloor",
        description="Security logs into Apache Accumulo, and the newest matching events out of it.",
        epilog="Exit status: 0 done, 1 done in part (something was quarantined or failed), 2 the request must change, "
        "3 the installation must change.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and exit")
    _add_global_options(parser, None)
    return parser


class _PrintVersion(argparse.Action):
    """Prints the version of the installed package"""

    def __call__(self, parser: argparse.ArgumentParser, *others: Any) -> None:
        from importlib.metadata import version

        print(f"watchfloor {version('watchfloor')}")
        parser.exit()


def _add_global_options(parser: argparse.ArgumentParser, default: str | None) -> None:
    group = parser.add_argument_group("global options")
    group.add_argument("--home", metavar="DIR", default=default, help="the stack's folder (default .watchfloor)")
    group.add_argument("--config", metavar="FILE", default=default, help="settings file (default watchfloor.toml)")
    verbose = 0 if default is None else default
    group.add_argument("-v", "--verbose", action="count", default=verbose, help="tell more on standard error; -vv all")


def _join_dashes(arguments: list[str]) -> list[str]:
    """Returns the arguments with ``--since -4h`` as ``--since=-4h``, as argparse would read ``-4h`` as an option.

    ``--sort -bytes`` becomes ``--sort=-bytes``.
    """
    joined: list[str] = []
    for argument in arguments:
        before = joined[-1] if joined else ""
        is_time = before in ("--since", "--until") and argument[:1] == "-" and argument[1:2].isdigit()
        is_sort = before == "--sort" and argument[:1] == "-" and argument[1:2] not in ("", "-")
        if is_time or is_sort:
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _report_error(error: WatchfloorError, verbose: int) -> int:
    """Prints the error and returns the exit status that says who must act."""
    if verbose > 1:
        logging.getLogger(__name__).debug("the error's origin", exc_info=error)
    print(f"watchfloor: {escape_line_controls(str(error))}", file=sys.stderr)
    if isinstance(error, UserError):
        return USER
    return OPERATOR if isinstance(error, OperatorError) else INTERNAL


class _VisibleFormatter(logging.Formatter):
    """Writes out the control characters of what is logged."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_line_controls(super().format(record))


def _configure_logging(verbose: int) -> None:
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_VisibleFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    # The client of Kafka logs every retry, some with a traceback; the queue's own errors say what matters.
    logging.getLogger("kafka").setLevel(level if verbose > 1 else logging.CRITICAL)


if __name__ == "__main__":
    sys.exit(main())
