"""``watchfloor retention``: how long the events of each source are kept, and the removal of those that are expired."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from watchfloor.api.cli.terminal.command_group import OK, PARTLY
from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.api.cli.terminal.rows import add_format, print_rows

if TYPE_CHECKING:
    from watchfloor.schema.source import Source
    from watchfloor.store.store import Store

_COLUMNS = ("name", "keep", "kept_from", "removed_before", "oldest_day", "bytes")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="only this one (default: all)")
    parser.add_argument("--keep", metavar="TIME", help="keep its events so long from now on: 90d, 52w or forever")
    parser.add_argument("--apply", action="store_true", help="remove what is expired now, and say what that freed")
    add_format(parser)


def run_retention(args: Namespace) -> int:
    """Changes how long a source's events are kept, removes what is expired, or lists all policies.

    Returns the exit status.
    """
    from watchfloor.schema.errors import UserError
    from watchfloor.store.retention.policy import set_keep

    if args.keep is not None and args.source is None:
        raise UserError("--keep is for one source: watchfloor retention SOURCE --keep 90d")
    keep = None if args.keep is None else parse_keep(args.keep)
    with open_store(read_settings(args), role="ingest") as store:
        sources = _choose_sources(store, args.source)
        if args.keep is not None:
            set_keep(store, args.source, keep)
        busy = _remove_expired(store, sources) if args.apply else False
        print_rows([_outline(store, source) for source in sources], _COLUMNS, args.format)
    return PARTLY if busy else OK


def _remove_expired(store: Store, sources: Sequence[Source]) -> bool:
    """Removes what is expired, and says what that freed. Returns whether some of the sources were busy."""
    from watchfloor.ingest.maintenance.expire import expire_sources

    expiry = expire_sources(store, sources)
    removal = expiry.removal
    print_message(
        f"{', '.join(removal.sources)}: {removal.before:,} bytes on disk became {removal.after:,}: "
        f"{removal.freed:,} freed, {removal.seconds:.1f} s"
        if removal.sources
        else "no event is expired: nothing to remove"
    )
    if expiry.busy:
        print_message(
            f"left out, as `watchfloor compact` or another removal is running: {', '.join(expiry.busy)}; "
            "run `watchfloor retention --apply` again when that is over"
        )
    return bool(expiry.busy)


def parse_keep(text: str) -> int | None:
    """Returns the µs of a time such as ``90d``; None for ``forever``. Raises ``TimeRangeError``."""
    from watchfloor.schema.times import parse_duration

    return None if text.strip().lower() == "forever" else parse_duration(text)


def _choose_sources(store: Store, name: str | None) -> list[Source]:
    """Returns the source of a name, or all. Raises ``UnknownSourceError``."""
    from watchfloor.schema.errors import UnknownSourceError

    known = store.catalog.read_sources()
    if name is not None and name not in known:
        raise UnknownSourceError(name, known)
    return [known[one] for one in sorted(known) if name in (None, one)]


def _outline(store: Store, source: Source) -> dict[str, Any]:
    """Returns what is kept of a source, as a row."""
    import time

    from watchfloor.schema.times import format_micros, format_width
    from watchfloor.store.layouts.count_reader import CountReader
    from watchfloor.store.retention.policy import read_policy
    from watchfloor.store.retention.removal import read_source_bytes

    policy = read_policy(store, source.name)
    kept_from = policy.kept_from(time.time_ns() // 1000)
    bounds = CountReader(store, source).find_bounds()
    return {
        "name": source.name,
        "keep": "forever" if policy.keep is None else format_width(policy.keep),
        "kept_from": format_micros(kept_from) if kept_from else None,
        "removed_before": format_micros(policy.removed_before) if policy.removed_before else None,
        "oldest_day": format_micros(bounds[0]) if bounds else None,
        "bytes": read_source_bytes(store, source),
    }
