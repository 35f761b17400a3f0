"""``watchfloor lists``: named lists of values, to which filters refer as ``@name``."""

from __future__ import annotations

from argparse import Namespace

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.api.cli.terminal.rows import add_format, print_rows
from watchfloor.schema.choices import LIST_TYPES
from watchfloor.schema.files.paths import describe_error, find_named_path, show_path

POSITION = 25
COLUMNS = ("name", "type", "values", "networks", "version", "expires", "label", "state")


def register(add: AddCommand) -> None:
    parser = add("lists", show_lists, "named lists of values, for filters such as ip in @bad_ips")
    add_format(parser)
    actions = parser.add_subparsers(metavar="[show [NAME] | put NAME FILE | remove NAME]")
    show = actions.add_parser("show", help="all lists (the default), or the entries of one", allow_abbrev=False)
    show.add_argument("name", metavar="NAME", nargs="?")
    add_format(show)
    show.set_defaults(run=show_lists)
    put = actions.add_parser("put", help="store a list, or a new version of it, from a file", allow_abbrev=False)
    put.add_argument("name", metavar="NAME")
    put.add_argument("file", metavar="FILE", help="a value a line, or CSV; - is standard input")
    put.add_argument(
        "--type", choices=LIST_TYPES, metavar="T", help=f"one of {', '.join(LIST_TYPES)} (default: as the first value)"
    )
    put.add_argument("--column", metavar="C", help="CSV: the column of the values, by number or by name in line 1")
    put.add_argument("--comment", metavar="C", help="CSV: the column of comments, likewise")
    put.add_argument("--label", metavar="EXPR", help="who sees the list (default: as before; of a new one all)")
    put.add_argument("--expires", metavar="DURATION", help="how long it may be used: 30d, 8h (default: for good)")
    put.add_argument("--skip-bad", action="store_true", help="leave bad lines out; otherwise one refuses the file")
    put.set_defaults(run=put_list)
    remove = actions.add_parser("remove", help="remove a list with all its versions", allow_abbrev=False)
    remove.add_argument("name", metavar="NAME")
    remove.set_defaults(run=remove_list)


def show_lists(args: Namespace) -> None:
    """Prints an outline of each list, or the entries of the one that is named."""
    from watchfloor.api.answers import outline_list
    from watchfloor.query.named_lists import outline_lists, read_entries

    name = getattr(args, "name", None)
    with open_store(read_settings(args)) as store:
        if name is None:
            rows = [outline_list(stored) for stored in outline_lists(store)]
            print_rows(rows, COLUMNS, args.format)
            if not rows:
                print_message("no list yet: `watchfloor lists put NAME FILE` makes one")
            return
        stored, entries = read_entries(store, name)
    print_rows([vars(entry) for entry in entries], ("entry", "comment"), args.format)
    print_message(f"{name}: {stored.type}, put at {outline_list(stored)['version']}")


def put_list(args: Namespace) -> None:
    """Stores a new version of a list. Raises ``UserError`` that names the bad lines of the file."""
    import time

    from watchfloor.schema.lists.list_file import ListFormat, read_list
    from watchfloor.schema.text import format_number
    from watchfloor.schema.times import parse_duration
    from watchfloor.store.put_list import put_list as store_list

    expires = None if args.expires is None else time.time_ns() // 1000 + parse_duration(args.expires)
    form = ListFormat(args.type, args.column, args.comment, args.file.endswith(".csv"), args.skip_bad)
    values = read_list(_read_file(args.file), form)
    with open_store(read_settings(args), role="ingest") as store:
        stored = store_list(store, args.name, values, args.label, expires)
    skipped = f"; {format_number(values.skipped, 'bad line')} left out" if values.skipped else ""
    networks = f", {format_number(stored.networks, 'network')} among them" if stored.networks else ""
    print_message(f"{args.name}: {format_number(stored.count, 'value')} of the type {stored.type}{networks}{skipped}")


def remove_list(args: Namespace) -> None:
    """Removes a list."""
    from watchfloor.store.put_list import remove_list as remove_stored

    with open_store(read_settings(args), role="ingest") as store:
        remove_stored(store, args.name)
    print_message(f"{args.name} is removed")


def _read_file(file: str) -> bytes:
    """Returns the content of a file, or of standard input. Raises ``InputFileError``."""
    import sys

    from watchfloor.schema.errors import InputFileError
    from watchfloor.schema.lists.list_file import MAX_LIST_BYTES

    if file == "-":
        return sys.stdin.buffer.read(MAX_LIST_BYTES + 1)
    path = find_named_path(file)
    try:
        with path.open("rb") as opened:
            return opened.read(MAX_LIST_BYTES + 1)
    except OSError as error:
        raise InputFileError(f"{show_path(path)}: cannot be read: {describe_error(error)}") from None
