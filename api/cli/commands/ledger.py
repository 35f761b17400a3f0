"""``watchfloor items`` and ``quarantine``: the work items of the ledger, and the lines that did not become events."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from watchfloor.api.cli.terminal.command_group import OK, PARTLY, AddCommand
from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.api.cli.terminal.rows import add_format, print_rows
from watchfloor.api.formats.visible import escape_controls, escape_raw_line
from watchfloor.schema.files.paths import show_path

POSITION = 40
STATES = ("queued", "running", "done", "failed", "refused")
ITEM_COLUMNS = (
    "item",
    "state",
    "file",
    "start",
    "end",
    "feed",
    "events",
    "quarantined",
    "misfits",
    "attempts",
    "at",
    "by",
    "reason",
)
LETTER_COLUMNS = ("topic", "partition", "offset", "bytes", "at", "by", "reason", "message")
_SHOWN_BYTES = 200
LINE_COLUMNS = ("line", "file", "offset", "feed", "lines", "bytes", "reason")


def register(add: AddCommand) -> None:
    parser = add("items", list_items, "the ledger: what was queued and loaded, and how it ended")
    parser.add_argument("--state", choices=STATES, metavar="|".join(STATES), help="only those in this state")
    parser.add_argument("--failed", action="store_true", help="only those that failed or were refused")
    parser.add_argument(
        "--dead-letters", action="store_true", help="instead: messages of the queue that are no work items, and why"
    )
    add_format(parser)
    parser = add("quarantine", list_lines, "lines that became no event: where they stand, and why")
    _add_list_options(parser)
    actions = parser.add_subparsers(metavar="[list | show LINE… | retry [LINE]]")
    listing = actions.add_parser("list", help="all lines, or those of a file (the default)", allow_abbrev=False)
    _add_list_options(listing)
    listing.set_defaults(run=list_lines)
    show = actions.add_parser("show", help="a line as it is, control characters made visible", allow_abbrev=False)
    show.add_argument("lines", metavar="LINE", nargs="+", help="as `quarantine list` names it")
    show.add_argument("--raw", action="store_true", help="the bytes as they are; for a file or a pipe")
    show.set_defaults(run=show_lines)
    again = actions.add_parser("retry", help="parse them again, by the present definitions", allow_abbrev=False)
    again.add_argument("line", metavar="LINE", nargs="?", help="only this one")
    again.add_argument("--file", metavar="PATH", help="only the lines of this file, as `items` shows it")
    again.set_defaults(run=retry_lines)


def list_items(args: Namespace) -> None:
    """Prints the work items of the ledger, oldest change of state first; or the dead letters."""
    from watchfloor.api.records.ingest_records import describe_item
    from watchfloor.ingest.records.ledger import Ledger

    if args.dead_letters:
        return _list_dead_letters(args)
    states = (args.state,) if args.state else ("failed", "refused") if args.failed else STATES
    with open_store(read_settings(args), role="ingest") as store:
        rows = [
            {**describe_item(row), "misfits": sum(sum(counts.values()) for counts in row.misfits.values())}
            for row in Ledger(store).read_rows(states)
        ]
    print_rows(sorted(rows, key=lambda row: row["at"]), ITEM_COLUMNS, args.format)


def _list_dead_letters(args: Namespace) -> None:
    from watchfloor.api.records.ingest_records import format_seconds
    from watchfloor.ingest.records.dead_letters import DeadLetters

    with open_store(read_settings(args), role="ingest") as store:
        rows = [
            {
                "topic": letter.topic,
                "partition": letter.partition,
                "offset": letter.offset,
                "bytes": letter.size,
                "at": format_seconds(letter.at),
                "by": letter.by,
                "reason": letter.reason,
                "message": escape_raw_line(letter.raw[:_SHOWN_BYTES]),
            }
            for letter in DeadLetters(store).read_letters()
        ]
    print_rows(sorted(rows, key=lambda row: str(row["at"])), LETTER_COLUMNS, args.format)


def list_lines(args: Namespace) -> None:
    """Prints the lines that are in quarantine, at most ``--limit``."""
    from watchfloor.api.records.ingest_records import IngestRecords

    with open_store(read_settings(args), role="ingest") as store:
        rows, more = IngestRecords(store).list_lines(args.file, args.limit)
    print_rows(rows, LINE_COLUMNS, args.format)
    if more:
        print_message(f"there are more: these are the first {args.limit:,} (see --limit)")


def show_lines(args: Namespace) -> None:
    """Prints quarantined lines with their reasons, or with ``--raw`` their bytes alone."""
    from watchfloor.ingest.records.quarantine import Quarantine
    from watchfloor.schema.errors import UserError

    if args.raw and sys.stdout.isatty():
        raise UserError("--raw is not for a terminal: log lines may hold escape sequences")
    with open_store(read_settings(args), role="ingest") as store:
        for line in map(Quarantine(store).find_line, args.lines):
            if args.raw:
                sys.stdout.buffer.write(line.raw + b"\n")
                continue
            whole = "" if line.whole else ", only its beginning was kept"
            print_message(f"{line.key}: {show_path(line.path)} at byte {line.offset:,} ({line.state}{whole})")
            print_message(f"  {escape_controls(line.reason)}")
            print(escape_raw_line(line.raw), flush=True)


def retry_lines(args: Namespace) -> int:
    """Parses quarantined lines again; returns PARTLY if some of them stay in quarantine."""
    from watchfloor.ingest.maintenance.retry import retry_lines

    with open_store(read_settings(args), role="ingest") as store:
        result = retry_lines(store, path=args.file, key=args.line)
    kept = result.lines - result.events
    print_message(f"{result.lines:,} lines tried: {result.events:,} are events now, {kept:,} stay in quarantine")
    for reason, count in sorted(result.kept.items(), key=lambda entry: -entry[1])[:10]:
        print_message(f"  {count:,} × {escape_controls(reason)}")
    return PARTLY if kept else OK


def _add_list_options(parser: ArgumentParser) -> None:
    parser.add_argument("--file", metavar="PATH", help="only the lines of this file, as `items` shows it")
    parser.add_argument("--limit", metavar="N", type=int, default=1000, help="at most N lines (default 1000)")
    add_format(parser)
