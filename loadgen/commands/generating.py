"""``watchfloor generate`` and ``replay``: write generated or real lines, at full speed or as if they came now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.api.cli.terminal.signals import stop_on_signals
from watchfloor.loadgen.generator.feed_registry import list_feeds
from watchfloor.schema.files.paths import find_path, show_path

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from watchfloor.loadgen.generator.generate import GenerationSummary
    from watchfloor.loadgen.generator.streams.pacer import LiveLineSink
    from watchfloor.loadgen.generator.streams.replay import ReplaySummary
    from watchfloor.schema.source import Source

POSITION = 80


def register(add: AddCommand) -> None:
    """Adds ``generate`` and ``replay`` to the command line."""
    parser = add("generate", run_generate, "made-up events as JSON lines, the same for the same arguments")
    feeds = list_feeds()
    parser.add_argument("source", choices=feeds, metavar="SOURCE", help=", ".join(feeds))
    parser.add_argument("--events", metavar="N", type=int, required=True, help="how many")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="which ones (default 1)")
    parser.add_argument("--rate", metavar="R", type=float, help="so many a second, each when its time, now, has come")
    parser.add_argument("--days", metavar="D", type=float, help="days that they spread over (default 7)")
    parser.add_argument("--end", metavar="TIME", help="where the days end (default 2026-01-08T00:00:00Z)")
    _add_output(parser)
    parser = add("replay", run_replay, "a log file's lines at a rate or at their own pace, their times shifted to now")
    parser.add_argument("file", metavar="FILE", help="a log file, also compressed")
    parser.add_argument("--source", metavar="S", help="what it is (default: found out from its content)")
    pace = parser.add_mutually_exclusive_group(required=True)
    pace.add_argument("--rate", metavar="R", type=float, help="so many lines a second")
    pace.add_argument(
        "--speed", metavar="X", type=float, help="so many times as fast as they came; 1 is their own pace"
    )
    _add_output(parser)


def run_generate(args: Namespace) -> None:
    with stop_on_signals() as stop:
        done, late = _generate_past(args, stop) if args.rate is None else _generate_live(args, stop)
        interrupted = stop.is_set()
    print_message(format_generated(done, late))
    if interrupted:
        raise KeyboardInterrupt


def _generate_past(args: Namespace, stop: threading.Event) -> tuple[GenerationSummary, None]:
    """Generates events of past days at full speed."""
    from watchfloor.api.cli.terminal.output import open_output
    from watchfloor.loadgen.generator.generate import DEFAULT_DAYS, DEFAULT_END
    from watchfloor.loadgen.generator.generate import generate_events as run
    from watchfloor.schema.times import from_micros, parse_time

    days = DEFAULT_DAYS if args.days is None else args.days
    end = DEFAULT_END if args.end is None else from_micros(parse_time(args.end, 0))
    with open_output(args.output) as out:
        done = run(out, args.events, args.seed, days, end, args.source, stop)
        out.flush()
    return done, None


def _generate_live(args: Namespace, stop: threading.Event) -> tuple[GenerationSummary, float]:
    """Generates each event at its own time, from now on. Also returns the longest delay of an event in seconds."""
    from watchfloor.loadgen.generator.streams.generate_live import generate_live
    from watchfloor.schema.errors import UserError

    for option in ("days", "end"):
        if getattr(args, option) is not None:
            raise UserError(f"--{option} says when events were; with --rate they are now: leave one of both out")
    with _open_followed_output(args.output) as out:
        live = generate_live(out, args.events, args.rate, args.seed, args.source, stop)
    return live.generated, live.max_delay


def run_replay(args: Namespace) -> None:
    from watchfloor.loadgen.generator.streams.replay import replay_file as run
    from watchfloor.schema.errors import UserError

    file = find_path(args.file)
    files = [Path(path) for path in (args.output, file) if path and Path(path).exists()]
    if len(files) == 2 and files[0].samefile(files[1]):
        raise UserError(f"--out {show_path(args.output)} is the log itself; name another file")
    known = _load_stored_sources(args)
    with stop_on_signals() as stop:
        with _open_followed_output(args.output) as out:
            speed = 1.0 if args.speed is None else args.speed
            done = run(file, out, stop, source=args.source, rate=args.rate, speed=speed, known=known)
        interrupted = stop.is_set()
    print_message(format_replayed(done))
    if interrupted:
        raise KeyboardInterrupt


def format_generated(done: GenerationSummary, late: float | None = None) -> str:
    """Formats what was generated, with the frequencies of the named values.

    ``late`` is in seconds; None if not live.
    """
    named = "\n".join(
        f"  {name:<9} {frequency.field} = {frequency.value}: {frequency.events:,} events"
        for name, frequency in (("popular", done.popular), ("middling", done.middling), ("rare", done.rare))
    )
    days = f"{done.since:%Y-%m-%dT%H:%M:%SZ} to {done.until:%Y-%m-%dT%H:%M:%SZ}"
    return f"{done.events:,} events, {_format_speed(done.bytes, done.events, done.seconds, late)}, {days}\n{named}"


def format_replayed(done: ReplaySummary) -> str:
    left = done.lines - done.retimed
    unchanged = f"; {left:,} were passed on as they are, as no time was found that could be replaced" if left else ""
    return f"{done.lines:,} lines, {_format_speed(done.bytes, done.lines, done.seconds, done.max_delay)}{unchanged}"


def _format_speed(size: int, lines: int, seconds: float, late: float | None) -> str:
    """Formats size, seconds and speed; ``late`` is None if nothing was due at a time."""
    took = f"{size / 1e6:,.1f} MB in {seconds:.1f} s"
    seconds = max(seconds, 1e-9)
    if late is None:
        return f"{took} ({size / seconds / 1e6:,.0f} MB/s)"
    return f"{took} ({lines / seconds:,.1f}/s), at most {late * 1000:,.0f} ms late"


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument("--output", "--out", metavar="FILE", help="write to FILE instead of standard output (also -)")


@contextmanager
def _open_followed_output(path: str | None) -> Iterator[LiveLineSink | BinaryIO]:
    """Opens standard output, or a file that a master can follow."""
    from watchfloor.api.cli.terminal.output import open_output
    from watchfloor.loadgen.generator.streams.periodically_closed_file import PeriodicallyClosedFile

    if path is None or path == "-":
        with open_output(path) as out:
            yield out
    else:
        with PeriodicallyClosedFile(path) as file:
            yield file


def _load_stored_sources(args: Namespace) -> Mapping[str, Source]:
    """Returns the store's sources if the named one is not built in; a built-in source needs no running stack."""
    from watchfloor.ingest.formats.registry import find_family
    from watchfloor.schema.definition import builtin_definitions

    name = args.source
    if name is None or name in builtin_definitions() or find_family(name):
        return {}
    with open_store(read_settings(args)) as store:
        return store.catalog.read_sources()
