"""``watchfloor master``, ``worker``, ``load`` and ``compact``: bring logs into the store, and merge their blocks."""

from __future__ import annotations

import logging
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from watchfloor.api.cli.terminal.command_group import OK, PARTLY, AddCommand
from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.api.cli.terminal.signals import stop_on_signals
from watchfloor.schema.choices import INGEST_MODES

if TYPE_CHECKING:
    from watchfloor.ingest.intake.load_result import LoadResult
    from watchfloor.schema.settings.settings import Settings

POSITION = 30


def register(add: AddCommand) -> None:
    parser = add("master", run_master, "watch folders, and queue each new complete file once")
    parser.add_argument("--watch", metavar="DIR", nargs="+", action="extend", required=True, help="folders to watch")
    parser.add_argument("--source", metavar="S", help="what all files are (default: found out from their content)")
    parser = add("worker", run_workers, "ingest what is queued, until stopped")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="worker processes (default 1)")
    _add_mode(parser)
    parser.add_argument(
        "--max-delay",
        metavar="SECONDS",
        type=float,
        help="how long a queued line of a slow feed may take until it is found (default 2)",
    )
    parser = add(
        "load",
        load_files,
        "queue files, ingest them and wait; exit status 1 if anything was quarantined, skipped or failed",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="log files, compressed too, archives of them, or patterns"
    )
    parser.add_argument("--source", metavar="S", help="what the files are (default: found out from their content)")
    parser.add_argument(
        "--workers", metavar="N", type=int, help="worker processes of this load (default: one for two cores)"
    )
    _add_mode(parser)
    parser.add_argument("--again", action="store_true", help="read files again that were loaded already")
    parser.add_argument(
        "--strict", action="store_true", help="load nothing if the kind of a file is not known (default: skip the file)"
    )
    parser = add("compact", compact_blocks, "merge the small blocks of a source's closed days into full ones")
    parser.add_argument("source", metavar="SOURCE", help="a source in the block layout")
    parser.add_argument(
        "--older-than", metavar="DURATION", default="1h", help="only days that ended so long ago (default 1h)"
    )
    parser.add_argument(
        "--index",
        action="store_true",
        help="if a field was indexed when there were events already, write all blocks anew: its index then covers all",
    )


def run_master(args: Namespace) -> None:
    """Watches folders and queues their new files, until it is stopped."""
    from watchfloor.ingest.intake.master import watch_folders

    settings = read_settings(args)
    with _log_until_stopped() as stop:
        watch_folders(settings, args.watch, stop, feed=args.source)


def run_workers(args: Namespace) -> None:
    """Runs worker processes that ingest queued work items, until it is stopped."""
    from watchfloor.ingest.worker.pool import WorkerPool

    _check_workers(args.workers)
    settings = read_settings(args, ingest_mode=args.mode, sink_latency_ms=_to_sink_latency(args.max_delay))
    settings.read_queue_key()  # without it no worker can do anything, and each would say so only in the log
    with _log_until_stopped() as stop:
        WorkerPool(settings, args.workers).run(stop)


def load_files(args: Namespace) -> int:
    """Queues files, ingests them and shows the progress; returns PARTLY unless each line of each file is an event."""
    from watchfloor.api.cli.terminal.progress import follow_load, format_summary
    from watchfloor.ingest.standing.stack_load import ask_for_load, keep_apart
    from watchfloor.store.runtime.disk_space import read_disk_space

    if args.workers is not None:
        _check_workers(args.workers)
    settings = read_settings(args, ingest_mode=args.mode)
    if (space := read_disk_space(settings)) and space.is_low:
        print_message(space.describe())
    asked = None
    if args.workers is None:
        asked = ask_for_load(settings, args.files, args.source, again=args.again, is_strict=args.strict)
    result = follow_load(asked) if asked else _load_with_own_workers(keep_apart(settings), args)
    print_message(format_summary(result))
    return OK if result.clean else PARTLY


def _load_with_own_workers(settings: Settings, args: Namespace) -> LoadResult:
    """Loads as ``load_files`` does, with workers of this command."""
    from watchfloor.ingest.worker.load_start import LoadStart
    from watchfloor.ingest.worker.pool import choose_workers

    workers = choose_workers() if args.workers is None else args.workers
    with LoadStart(settings, workers) as start:
        start.begin()  # while this process imports what it needs itself
        from watchfloor.api.cli.terminal.progress import follow_load
        from watchfloor.ingest.intake.load import Load

        load = Load(
            settings,
            args.files,
            args.source,
            workers=workers,
            again=args.again,
            is_strict=args.strict,
            start=start,
        )
        return follow_load(load)


def compact_blocks(args: Namespace) -> None:
    """Merges the small blocks of a source, or with ``--index`` completes the indexes of its blocks."""
    from watchfloor.ingest.maintenance.compact import compact_source
    from watchfloor.schema.times import parse_duration

    def report_step(step: str) -> None:
        if step == "waiting":
            print_message(f"waiting {store.grace:.0f} s for queries that may still read the old blocks, to delete them")

    older_than = parse_duration(args.older_than)
    with open_store(read_settings(args), role="ingest") as store:
        done = compact_source(store, args.source, older_than, report_step, args.index)
    print_message(
        f"{done.before:,} blocks became {done.after:,}: {done.events:,} events were moved in {done.rounds:,} rounds, "
        f"{done.seconds:.1f} s"
        if done.rounds
        else f"{done.before:,} blocks: nothing to merge"
    )
    if args.index:
        print_message(
            f"{done.lacking:,} blocks still lack index entries, as their work items are not done: run it again later"
            if done.lacking
            else "the indexes cover all events"
        )


def _add_mode(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        choices=INGEST_MODES,
        help="bulk: write sorted files that are imported, for backfills (default live)",
    )


def _to_sink_latency(max_delay: float | None) -> int | None:
    """Returns the milliseconds that entries may wait to be sent: a tenth of ``max_delay``, which is in seconds.

    The rest of the delay is left for all other steps between the log file and a query.
    """
    from watchfloor.schema.errors import UserError

    if max_delay is None:
        return None
    if not 0.1 <= max_delay <= 3600:
        raise UserError(f"--max-delay is {max_delay:g}; it must lie between 0.1 and 3600 seconds")
    return round(max_delay * 100)


@contextmanager
def _log_until_stopped() -> Iterator[threading.Event]:
    """Yields an event that is set when the service must stop. Makes the service log from level INFO on."""
    logging.getLogger("watchfloor").setLevel(min(logging.INFO, logging.getLogger().level))
    with stop_on_signals() as stop:
        yield stop


def _check_workers(workers: int) -> None:
    from watchfloor.schema.errors import UserError

    if not 1 <= workers <= 256:
        raise UserError(f"--workers is {workers}; it must lie between 1 and 256")
