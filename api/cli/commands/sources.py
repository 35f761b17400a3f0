"""``watchfloor sources``: the sources of the store, their definitions, and definitions from files."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING

from watchfloor.api.cli.backup.commands import add_commands
from watchfloor.api.cli.definitions import proposal, retention, trial
from watchfloor.api.cli.definitions.costs import describe_costs
from watchfloor.api.cli.definitions.files import open_named_log, read_definition
from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.api.cli.terminal.rows import add_format, print_rows

if TYPE_CHECKING:
    from watchfloor.schema.source import Source

POSITION = 20


def register(add: AddCommand) -> None:
    parser = add("sources", list_sources, "the sources that are known; their definitions")
    add_format(parser)
    actions = parser.add_subparsers(
        metavar="[show NAME | infer FILE | try FILE LOG | check FILE | add FILE | index NAME FIELD]"
    )
    show = actions.add_parser("show", help="print a source's definition", allow_abbrev=False)
    show.add_argument("name", metavar="NAME")
    show.add_argument("--sample", metavar="FILE", help="also what the lines of this log would take in a store")
    show.set_defaults(run=show_source)
    proposal.add_arguments(
        actions.add_parser("infer", help="propose a definition for a file; needs no store", allow_abbrev=False)
    )
    trial.add_arguments(
        actions.add_parser("try", help="read a file by a definition file; needs no store", allow_abbrev=False)
    )
    check = actions.add_parser("check", help="check a definition file; needs no store", allow_abbrev=False)
    check.add_argument("file", metavar="FILE")
    check.set_defaults(run=check_definition)
    new = actions.add_parser("add", help="make a source from a definition file", allow_abbrev=False)
    new.add_argument("file", metavar="FILE")
    new.set_defaults(run=add_source)
    index = actions.add_parser("index", help="index a field of a known source from now on", allow_abbrev=False)
    index.add_argument("name", metavar="NAME")
    index.add_argument("field", metavar="FIELD")
    index.add_argument("--reversed", action="store_true", help="its values backwards too, for endswith")
    index.set_defaults(run=index_field)
    retention.add_arguments(add("retention", retention.run_retention, "how long the events of sources are kept"))
    add_commands(add)


def list_sources(args: Namespace) -> None:
    """Prints an outline of each source in the store."""
    with open_store(read_settings(args)) as store:
        sources = store.catalog.read_sources()
    rows = [
        {
            "name": name,
            "title": sources[name].title,
            "fields": len(sources[name].fields),
            "layout": sources[name].layout,
            "shards": sources[name].shards,
            "indexed": ", ".join(f.name for f in sources[name].indexed_fields),
        }
        for name in sorted(sources)
    ]
    print_rows(rows, ("name", "title", "fields", "layout", "shards", "indexed"), args.format)
    if not rows:
        print_message("no source yet: `watchfloor load FILE` makes those it needs")


def show_source(args: Namespace) -> None:
    """Prints the definition in the store, or the shipped one of a source that is not in use yet.

    The kinds of its fields, which follow from their ECS names, are printed beside it on standard error, and so is what
    the events of a sample take, by table and by indexed field.
    """
    from watchfloor.schema.definition import builtin_definitions
    from watchfloor.schema.errors import UnknownSourceError

    with open_store(read_settings(args)) as store:
        sources = store.catalog.read_sources()
    if args.name not in sources:
        shipped = builtin_definitions()
        if args.name not in shipped:
            raise UnknownSourceError(args.name, {**shipped, **sources})
        print_message(f"{args.name} ships with Watchfloor; the store has no events of it yet")
        sources = shipped
    print(json.dumps(sources[args.name].definition, indent=2, ensure_ascii=False))
    for line in list_kinds(sources[args.name]):
        print_message(line)
    if args.sample is not None:
        for line in list_costs(sources[args.name], args.sample):
            print_message(line)


def list_costs(source: Source, sample: str) -> list[str]:
    """Returns lines about what the events of a log take in a store."""
    from watchfloor.ingest.authoring.costs import measure_source

    with open_named_log(sample) as file:
        return describe_costs(source, measure_source(source, file))


def list_kinds(source: Source) -> list[str]:
    """Returns a line for each kind of values that a source has, with the fields and their ECS names."""
    kinds = sorted({f.kind for f in source.fields} - {""})
    fields = {kind: [f"{f.name} ({f.ecs})" for f in source.fields_by_meaning[kind]] for kind in kinds}
    return [f"kind {kind}: {', '.join(fields[kind])}" for kind in kinds]


def check_definition(args: Namespace) -> None:
    """Checks a definition file and prints its outline. Raises ``DefinitionError`` if it is not valid."""
    source, shown = read_definition(args.file)
    print_message(f"{shown}: {source.name} is fine: {len(source.fields)} fields, {len(source.indexed_fields)} indexed")


def add_source(args: Namespace) -> None:
    """Adds a source from a definition file, or changes the one of its name, and says what was done.

    Raises ``DefinitionError`` if the definition would change what stored events depend on.
    """
    from watchfloor.ingest.authoring.redefinition import check_redefinition

    source, shown = read_definition(args.file)
    with open_store(read_settings(args), role="ingest") as store:
        known = store.catalog.read_sources().get(source.name)
        if known is not None:
            check_redefinition(known, source, shown)
        store.check_room()
        stored = store.catalog.register(source, is_redefined=True)
    print_message(
        f"{stored.name}{'' if known else ' is new'}: {len(stored.fields)} fields, "
        f"{len(stored.indexed_fields)} indexed, layout {stored.layout}, {stored.shards} shards"
    )
    if known is not None:
        for line in describe_redefinition(known, source, stored):
            print_message(line)


def describe_redefinition(known: Source, wanted: Source, stored: Source) -> list[str]:
    """Returns what a definition has changed in a known source, what stays, and what the user may do next."""
    from watchfloor.ingest.authoring.redefinition import describe_changes, list_kept_fields
    from watchfloor.schema.text import list_names

    changes = describe_changes(known, stored)
    lines = [f"  changed: {change}" for change in changes] or ["  nothing to change: the source is so already"]
    if kept := list_kept_fields(known, wanted):
        lines.append(f"  kept: fields that the definition lacks: {list_names(kept)}")
    indexed = [f.name for f in wanted.fields if not f.is_indexed and stored.fields_by_name[f.name].is_indexed]
    if indexed:
        lines.append(f"  kept: the index of {list_names(indexed)}")
    if changes:
        lines.append(
            "  this holds for what is read from now on: `watchfloor load --again FILE…` reads loaded files anew, "
            "`watchfloor quarantine retry` their quarantined lines"
        )
    return lines


def index_field(args: Namespace) -> None:
    """Indexes a field from now on. Events that are in the store already stay as they are."""
    from dataclasses import replace

    from watchfloor.schema.errors import UnknownSourceError
    from watchfloor.schema.field import REVERSED_INDEX, VALUE_INDEX, IndexKind
    from watchfloor.schema.times import format_moment, from_micros

    with open_store(read_settings(args), role="ingest") as store:
        known = store.catalog.read_sources()
        if args.name not in known:
            raise UnknownSourceError(args.name, known)
        field = known[args.name].find_field(args.field)
        indexes = (VALUE_INDEX, REVERSED_INDEX) if field.is_reversed or args.reversed else (VALUE_INDEX,)
        changed = replace(field, indexes=indexes)
        store.check_room()
        stored = store.catalog.register(known[args.name].replace_fields({field.name: changed})).find_field(args.field)
    for index in filter(None, map(stored.find_index, (IndexKind.VALUES, IndexKind.REVERSED))):
        start = format_moment(from_micros(index.covers_from))
        since = f"events since {start}; older ones are filtered" if index.covers_from else "all events"
        print_message(f"{args.name}: {args.field} is {index.kind.value} for {since}")
