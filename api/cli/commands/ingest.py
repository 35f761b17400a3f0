"""``watchfloor master``, ``worker``, ``load`` and ``compact``: logs into the store."""

from __future__ import annotations

import logging
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from watchfloor.api.cli.terminal.context import Add, open_store, say, settings_of, stopped_by_signals
from watchfloor.schema.choices import INGEST_MODES


def register(add: Add) -> None:
    parser = add("master", master, "watch folders, and queue each new complete file once")
    parser.add_argument("--watch", metavar="DIR", nargs="+", action="extend", required=True, help="folders to watch")
    parser.add_argument("--source", metavar="S", help="what all files are (default: found out from their content)")
    parser = add("worker", worker, "ingest what is queued, until stopped")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="worker processes (default 1)")
    _add_mode(parser)
    parser.add_argument(
        "--max-delay",
        metavar="SECONDS",
        type=float,
        help="how long a queued line of a slow feed may take until it is found (default 2)",
    )
    parser = add("load", load, "queue files, ingest them and wait; exit status 1 if anything was quarantined or failed")
    parser.add_argument("files", metavar="FILE", nargs="+", help="log files, plain or gzip, or patterns of them")
    parser.add_argument("--source", metavar="S", help="what the files are (default: found out from their content)")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="worker processes of this load (default 1)")
    _add_mode(parser)
    parser.add_argument("--again", action="store_true", help="read files again that were loaded already")
    parser = add("compact", compact, "merge the small blocks of a source's closed days into full ones")
    parser.add_argument("source", metavar="SOURCE", help="a source in the block layout")
    parser.add_argument(
        "--older-than", metavar="DURATION", default="1h", help="only days that ended so long ago (default 1h)"
    )
    parser.add_argument(
        "--index",
        action="store_true",
        help="if a field was indexed when there were events already, write all blocks anew: its index then covers all",
    )


def master(args: Namespace) -> None:
    from watchfloor.ingest.intake.master import master as run

    settings = settings_of(args)
    with _service() as stop:
        run(settings, args.watch, stop, feed=args.source)


def worker(args: Namespace) -> None:
    from watchfloor.ingest.worker.pool import Pool

    _at_least_one(args.workers)
    settings = settings_of(args, ingest_mode=args.mode, sink_latency_ms=_latency_ms(args.max_delay))
    with _service() as stop:
        Pool(settings, args.workers).run(stop)


def load(args: Namespace) -> int:
    from watchfloor.api.cli.terminal.progress import follow, summary
    from watchfloor.ingest.intake.load import Load

    _at_least_one(args.workers)
    settings = settings_of(args, ingest_mode=args.mode)
    result = follow(Load(settings, args.files, args.source, workers=args.workers, again=args.again))
    say(summary(result))
    return 0 if result.clean else 1


def compact(args: Namespace) -> None:
    from watchfloor.ingest.worker.compact import compact_source
    from watchfloor.schema.times import parse_duration

    def step(done: str) -> None:
        if done == "waiting":
            say(f"waiting {store.grace:.0f} s for queries that may still read the old blocks, to delete them")

    older_than = parse_duration(args.older_than)
    with open_store(settings_of(args), role="ingest") as store:
        done = compact_source(store, args.source, older_than, step, args.index)
    say(
        f"{done.before:,} blocks became {done.after:,}: {done.events:,} events were moved in {done.rounds:,} rounds, "
        f"{done.seconds:.1f} s"
        if done.rounds
        else f"{done.before:,} blocks: nothing to merge"
    )
    if args.index:
        say(
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


def _latency_ms(max_delay: float | None) -> int | None:
    """Milliseconds that entries may wait to be sent: a tenth of the delay, the rest is for all else on the way."""
    from watchfloor.schema.errors import UserError

    if max_delay is None:
        return None
    if not 0.1 <= max_delay <= 3600:
        raise UserError(f"--max-delay is {max_delay:g}; it must lie between 0.1 and 3600 seconds")
    return round(max_delay * 100)


@contextmanager
def _service() -> Iterator[threading.Event]:
    """Until it is set a service runs. What it does is logged from INFO on."""
    logging.getLogger("watchfloor").setLevel(min(logging.INFO, logging.getLogger().level))
    with stopped_by_signals() as stop:
        yield stop


def _at_least_one(workers: int) -> None:
    from watchfloor.schema.errors import UserError

    if not 1 <= workers <= 256:
        raise UserError(f"--workers is {workers}; it must lie between 1 and 256")
