"""``watchfloor sources try``: what the first lines of a file become by a definition. It needs no store."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from watchfloor.api.cli.terminal.context import print_message, read_settings
from watchfloor.api.cli.terminal.rows import add_format, print_rows

from .files import open_named_log, read_definition

if TYPE_CHECKING:
    from watchfloor.ingest.authoring.trial import Trial

_EXAMPLES, _EXAMPLE_WIDTH = 3, 30
_MOST_REJECTED = 20
_COLUMNS = ("field", "type", "indexed", "events", "misfits", "examples")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("definition", metavar="DEFINITION")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--lines", metavar="N", type=int, default=20, help="of how many lines (default 20)")
    add_format(parser)
    parser.set_defaults(run=try_definition)


def try_definition(args: Namespace) -> int:
    """Prints each field with its type and values, and each line that would be quarantined with the reason.

    Returns 1 if there is such a line.
    """
    from watchfloor.ingest.authoring.trial import try_source
    from watchfloor.schema.errors import UserError
    from watchfloor.store.bridge.jvm import start_jvm

    if args.lines < 1:
        raise UserError(f"--lines is {args.lines}; it is 1 or more")
    source, _ = read_definition(args.definition)
    start_jvm(read_settings(args).jars)
    with open_named_log(args.file) as file:
        trial = try_source(source, file, args.lines)
    print_rows([_describe_field(trial, name) for name in source.fields_by_name], _COLUMNS, args.format)
    print_outcome(trial)
    return 1 if trial.rejected else 0


def _describe_field(trial: Trial, name: str) -> dict[str, Any]:
    field = trial.source.fields_by_name[name]
    values = trial.read_field(name)
    distinct = dict.fromkeys(map(_show_value, values.slice(0, 1000).to_pylist()))
    return {
        "field": name,
        "type": field.type_name,
        "indexed": "yes" if field.is_indexed else "",
        "events": len(values),
        "misfits": trial.misfits[name],
        "examples": ", ".join(list(distinct)[:_EXAMPLES]),
    }


def _show_value(value: Any) -> str:
    from watchfloor.schema.text import shorten
    from watchfloor.schema.times import format_moment

    return shorten(format_moment(value) if isinstance(value, datetime) else str(value), _EXAMPLE_WIDTH)


def print_outcome(trial: Trial) -> None:
    """Prints how many lines are events, and the first of those that are not, with their reasons."""
    from watchfloor.schema.text import format_number, shorten

    said = f"{format_number(trial.lines, 'line')}: {format_number(trial.count, 'event')} of {trial.source.name}"
    others = "".join(f", {format_number(count, 'event')} of {name}" for name, count in trial.others.items())
    print_message(f"{said}{others}, {(trial.rejected and len(trial.rejected)) or 'none'} quarantined")
    for number, rejected in trial.rejected[:_MOST_REJECTED]:
        raw = rejected.raw.decode(errors="backslashreplace")
        print_message(f"line {number}: {rejected.reason}: {shorten(raw, 80)}")
    if len(trial.rejected) > _MOST_REJECTED:
        print_message(f"and {format_number(len(trial.rejected) - _MOST_REJECTED, 'more line')}")
