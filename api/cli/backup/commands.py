"""``watchfloor export`` and ``import``: sources as folders of files, and back into a store."""

from __future__ import annotations

from argparse import Namespace

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.schema.files.paths import find_named_path


def add_commands(add: AddCommand) -> None:
    """Adds both commands."""
    parser = add("export", run_export, "write sources to a folder, as they are at one moment, while ingest goes on")
    parser.add_argument("sources", metavar="SOURCE", nargs="*", help="the sources")
    parser.add_argument("folder", metavar="DIR", help="a new folder")
    parser.add_argument("--all", action="store_true", help="all sources, named lists and saved searches")
    parser = add("import", run_import, "read the sources of a folder that `export` wrote into this store")
    parser.add_argument("folder", metavar="DIR", help="the folder")
    parser.add_argument("--as", dest="new_name", metavar="NAME", help="its only source under another name")


def run_export(args: Namespace) -> None:
    """Exports sources."""
    from watchfloor.ingest.backup.export import export_sources
    from watchfloor.schema.errors import UserError
    from watchfloor.schema.text import format_number

    if bool(args.sources) == args.all:
        raise UserError("name the sources that are exported, or all: watchfloor export SOURCE… DIR, or --all DIR")
    with open_store(read_settings(args), role="ingest") as store:
        names = sorted(store.catalog.read_sources()) if args.all else list(dict.fromkeys(args.sources))
        if not names:
            raise UserError("the store has no sources")
        done = export_sources(store, names, find_named_path(args.folder), print_message, saved=args.all)
    print_message(
        f"{done.bytes:,} bytes in {args.folder}, {done.seconds:.1f} s; the moment was held after {done.held:.1f} s"
    )
    if done.partial:
        print_message(
            f"only a part of their events is in the export: {format_number(done.partial, 'work item')}, as others are "
            "in sources that are not exported, or expired: where this is imported they count as failed until their "
            "files are loaded again"
        )
    if done.untold:
        print_message(
            f"of such, {format_number(done.untold, 'item')} with retried lines, or to be read again: where this is "
            "imported they count as never loaded; export their other sources too, or do not load their files there"
        )


def run_import(args: Namespace) -> None:
    """Imports sources."""
    from watchfloor.ingest.backup.restore import import_sources

    with open_store(read_settings(args), role="ingest") as store:
        done = import_sources(store, find_named_path(args.folder), args.new_name, print_message)
    print_message(f"{', '.join(done.events)}: {sum(done.events.values()):,} events, {done.seconds:.1f} s")
