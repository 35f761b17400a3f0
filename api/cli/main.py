"""The command ``watchfloor``: one module per group of commands in ``commands/``.

Standard output carries data only; progress, summaries and errors go to standard error. Exit status: 0 done, 1 something
was quarantined or failed or a deadline cut it off, 2 the request must change, 3 the installation must change,
130 interrupted. Modules import what they need when they run, so that ``--help`` is quick and starts no JVM.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from watchfloor.api.cli.terminal.context import Add, Run
from watchfloor.schema.errors import OperatorError, UserError, WatchfloorError

from .commands import counts, events, ingest, ledger, serving, sources, stack

OK, PARTLY, USER, OPERATOR, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130
GROUPS = (stack, sources, ingest, ledger, events, counts, serving)
PASSED_ON = ("bench", "calibrate", "demo")  # what follows these commands is theirs to read


def build_parser() -> argparse.ArgumentParser:
    """The whole command line. Global options may stand before or after the command."""
    parser = argparse.ArgumentParser(
        prog="watchfloor",
        description="Security logs into Apache Accumulo, and the newest matching events out of it.",
        epilog="Exit status: 0 done, 1 done in part (something was quarantined or failed), 2 the request must change, "
        "3 the installation must change.",
        allow_abbrev=False,
    )
    _add_globals(parser, None)
    shared = argparse.ArgumentParser(add_help=False)
    _add_globals(shared, argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, run: Run, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary, parents=[shared], allow_abbrev=False)
        command.set_defaults(run=run)
        return command

    for register in (*(group.register for group in GROUPS), *_registered_elsewhere()):
        register(add)
    return parser


def _registered_elsewhere() -> list[Callable[[Add], None]]:
    """Commands of rooms above this one, by the entry points of pyproject.toml."""
    found = entry_points(group="watchfloor.commands")
    return [point.load() for point in sorted(found, key=lambda point: point.name, reverse=True)]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status. Without ``argv`` this is the process's command: it ends here."""
    arguments, rest = _split(list(sys.argv[1:] if argv is None else argv))
    args = build_parser().parse_args(_joined(arguments))
    args.rest = rest
    _configure_logging(args.verbose)
    try:
        status = args.run(args) or OK
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = OK
    except WatchfloorError as error:
        status = _failed(error, args.verbose)
    if argv is None and "jpype" in sys.modules:
        # Threads of the JVM that still call into Python while it shuts down would abort the process.
        logging.shutdown()
        sys.stderr.flush()
        os._exit(status)
    return status


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What argparse reads, and what is handed on as it is: all that follows a command of ``PASSED_ON``."""
    after = 0
    while after < len(arguments) and arguments[after].startswith("-"):
        after += 2 if arguments[after] in ("--home", "--config") else 1
    cut = after + 1 if arguments[after : after + 1] and arguments[after] in PASSED_ON else len(arguments)
    return arguments[:cut], arguments[cut:]


def _joined(arguments: list[str]) -> list[str]:
    """``--since -4h`` as ``--since=-4h``: argparse would take the time for an option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in ("--since", "--until") and argument[:1] == "-" and argument[1:2].isdigit():
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _failed(error: WatchfloorError, verbose: int) -> int:
    from watchfloor.api.formats.visible import escape_line_controls

    if verbose > 1:
        logging.getLogger(__name__).debug("the error's origin", exc_info=error)
    print(f"watchfloor: {escape_line_controls(str(error))}", file=sys.stderr)
    if isinstance(error, UserError):
        return USER
    return OPERATOR if isinstance(error, OperatorError) else INTERNAL


def _add_globals(parser: argparse.ArgumentParser, default: str | None) -> None:
    group = parser.add_argument_group("global options")
    group.add_argument("--home", metavar="DIR", default=default, help="the stack's folder (default .watchfloor)")
    group.add_argument("--config", metavar="FILE", default=default, help="settings file (default watchfloor.toml)")
    verbose = 0 if default is None else default
    group.add_argument("-v", "--verbose", action="count", default=verbose, help="tell more on standard error; -vv all")


def _configure_logging(verbose: int) -> None:
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("kafka").setLevel(max(level, logging.ERROR if verbose < 2 else level))


if __name__ == "__main__":
    sys.exit(main())
