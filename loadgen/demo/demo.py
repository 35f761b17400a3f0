"""``watchfloor demo``: the main job from end to end, on real servers, in a few minutes.

Starts the stack, obtains real logs and generates events for volume, lets master, queue and two workers load them, then
asks: counts, a timeline, top values, three queries from dense to rare, a sighting, a query of all sources, statistics,
and the same over REST. Every step prints the command that does it.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from watchfloor.api.cli.commands.stack import add_flavour
from watchfloor.api.cli.main import main as watchfloor
from watchfloor.api.cli.terminal.parser import CommandParser
from watchfloor.api.formats.visible import escape_line_controls
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.loadgen.generator.generate import GenerationSummary, generate_events
from watchfloor.loadgen.harness.background import run_background, run_rest_service
from watchfloor.schema.errors import InputFileError, InternalError, StackError
from watchfloor.schema.files.paths import find_path, show_path
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import UMASK
from watchfloor.store.store import Store

from .sample_logs import fetch_real_logs

WORKERS = 2
TABLE = ("--format", "table")
_WAIT_SECONDS = 600


def main(argv: Sequence[str]) -> int:
    """Runs the tour; returns its exit status."""
    args = _parse_arguments(argv)
    # All that the tour writes is in the stack's folder, which is nobody else's.
    os.umask(UMASK)
    settings = load_settings()
    logs = settings.home / "demo" / "logs"
    began = time.monotonic()
    try:
        print_title("The stack: ZooKeeper, Accumulo and Kafka as real processes")
        run_command(settings, "up", *list_flavour_flags(args))
        print_title("Logs: real ones, and made-up web-proxy events for volume")
        waiting, generated = prepare_files(settings, logs.with_name("waiting"), args.logs, args.events)
        print_title(f"Ingest: a master that watches {show_path(logs)}, the queue, and {WORKERS} workers")
        ingest_files(settings, waiting, logs)
        print_title("What was loaded, from the aggregate table")
        show_counts(settings)
        print_title("Three queries: a dense, a middling and a rare value")
        show_queries(settings, generated)
        print_title("Where a value occurs, the same in all sources, and statistics of what matches")
        show_analysis(settings, generated)
        print_title("The same over REST")
        query_rest(settings, generated)
    finally:
        if args.stop:
            print_title("Stopping the stack")
            run_command(settings, "down")
    print(f"\nDone in {time.monotonic() - began:.0f} s.", "" if args.stop else _format_farewell(settings))
    return 0


def list_flavour_flags(args: argparse.Namespace) -> list[str]:
    """Returns the flags of ``watchfloor up`` that choose the flavour, as they were given."""
    flags = [
        word for name in ("security", "datanodes") if (value := getattr(args, name)) for word in (f"--{name}", value)
    ]
    return [*map(str, flags), *(["--hdfs"] if args.hdfs else [])]


def _parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = CommandParser(prog="watchfloor demo", description=__doc__.partition("\n")[0])
    parser.add_argument("logs", nargs="*", metavar="LOG", help="further log files to load")
    parser.add_argument("--events", type=int, default=200_000, metavar="N", help="events to generate (default 200000)")
    add_flavour(parser)
    parser.add_argument("--stop", action="store_true", help="stop the stack at the end")
    return parser.parse_args(argv)


def prepare_files(
    settings: Settings, waiting: Path, more: Sequence[str], events: int
) -> tuple[list[Path], GenerationSummary]:
    """Puts log files into a folder beside the watched one; returns them and the summary of the generated events."""
    shutil.rmtree(waiting, ignore_errors=True)
    waiting.mkdir(parents=True)
    found = fetch_real_logs(settings.home / "demo" / "cache", waiting)
    for name in more:
        path = find_path(name)
        if not Path(path).is_file():
            raise InputFileError(f"{show_path(name)}: no such file; LOGS names log files to load beside the demo's own")
        found.append(Path(shutil.copy(path, waiting / f"{len(found):03d}-{Path(path).name}")))
    target = waiting / f"proxy-{events}.json"
    command = format_command("generate", "proxy.events", "--events", str(events), "--output", str(target))
    print(f"$ {command}")
    with target.open("wb") as file:
        generated = generate_events(file, events)
    found.append(target)
    size = sum(path.stat().st_size for path in found) / 1e6
    print(f"{len(found)} files, {size:,.1f} MB, {events:,} of the events generated", flush=True)
    return found, generated


def ingest_files(settings: Settings, files: Sequence[Path], watched: Path) -> None:
    """Moves the files into the watched folder and waits until the ledger says that each is done."""
    watched.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.enter_context(run_in_background(settings, "worker", "--workers", str(WORKERS)))
        stack.enter_context(run_in_background(settings, "master", "--watch", str(watched)))
        names = [path.rename(watched / path.name) for path in files]
        wait_until_loaded(settings, [os.path.realpath(name) for name in names])
    run_command(settings, "items", *TABLE)


def wait_until_loaded(settings: Settings, paths: Sequence[str]) -> None:
    """Prints the progress of ingest until all files are done. Raises StackError if that takes too long."""
    began, shown_at = time.monotonic(), 0.0
    with Store.open(settings) as store:
        ledger = Ledger(store)
        while True:
            rows = [row for row in ledger.read_rows() if row.path in paths]
            finished = {row.path for row in rows if row.state in ("done", "failed", "refused")}
            finished -= {row.path for row in rows if row.state in ("queued", "running")}
            # A file whose content was loaded before, under another name, has no row of its own.
            begun = {row.path for row in rows}
            known = {path for path in paths if path in finished or (path not in begun and ledger.read_seen(path))}
            seconds = time.monotonic() - began
            if seconds - shown_at >= 2 or len(known) == len(paths):
                shown_at = seconds
                events, bytes_read = sum(row.events for row in rows), sum(row.progress for row in rows)
                print(
                    f"  {seconds:4.0f} s: {len(known)} of {len(paths)} files, {events:,} events "
                    f"({events / seconds:,.0f}/s, {bytes_read / seconds / 1e6:.1f} MB/s), "
                    f"{sum(row.quarantined for row in rows)} lines quarantined",
                    flush=True,
                )
            broken = [row for row in rows if row.state in ("failed", "refused")]
            if broken:
                raise InputFileError("; ".join(row.reason for row in broken))
            if len(known) == len(paths):
                return
            if seconds > _WAIT_SECONDS:
                missing = ", ".join(map(show_path, sorted(set(paths) - known)[:3]))
                raise StackError(
                    f"not loaded after {_WAIT_SECONDS} s: {missing}; see {show_path(settings.home / 'log')}"
                )
            time.sleep(0.5)


def show_counts(settings: Settings) -> None:
    """Prints the counts of all sources, a timeline and top values."""
    for source in list_sources(settings):
        run_command(settings, "count", source)
    run_command(settings, "timeline", "proxy.events", "--bucket", "day", *TABLE)
    run_command(settings, "top", "proxy.events", "domain", "--limit", "5", *TABLE)
    run_command(settings, "top", "zeek.conn", "id.orig_h", "--limit", "5", *TABLE)


def list_sources(settings: Settings) -> list[str]:
    with Store.open(settings, role="query") as store:
        return sorted(store.catalog.read_sources())


def show_queries(settings: Settings, generated: GenerationSummary) -> None:
    """Runs a query for each of the three named values."""
    for frequency in (generated.popular, generated.middling, generated.rare):
        arguments = ["query", "proxy.events", "--where", f"domain = {frequency.value}", "--limit", "5"]
        arguments += ["--columns", "ts,src_ip,user,domain,status"]
        print(f"\n{frequency.events:,} events have {frequency.value}")
        run_command(settings, *arguments, *TABLE)


def show_analysis(settings: Settings, generated: GenerationSummary) -> None:
    """Looks for the rare value in all sources, reads its events, and counts errors by domain."""
    run_command(settings, "find", generated.rare.value, *TABLE)
    run_command(settings, "query", "*", "--where", f"domain = {generated.rare.value}", "--limit", "3", *TABLE)
    pipe = "count(), distinct(user), p95(duration_ms) by domain | sort -count | limit 5"
    run_command(settings, "query", "proxy.events", "--where", "status >= 500", "--stats", pipe, *TABLE)


def query_rest(settings: Settings, generated: GenerationSummary) -> None:
    """Sends the query for the rare value to the REST service, as a program would."""
    print(f"$ {format_command('serve')} &", flush=True)
    with run_rest_service(settings, _log_path(settings, "serve")) as service:
        url = f"http://{service.host}:{service.port}/api/v1"
        body = {"source": "proxy.events", "where": f"domain = {generated.rare.value}", "columns": ["ts", "domain"]}
        print(f"$ curl -H 'Authorization: Bearer …' {url}/query -d '{json.dumps(body)}'")
        headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/query", json.dumps(body).encode(), headers)
        for _ in range(2):  # the second answer is that of a warm service
            with urllib.request.urlopen(request, timeout=60) as answer:
                lines = answer.read().decode().splitlines()
        summary = json.loads(lines[-1])["summary"]
        summary.pop("plan")
        print("\n".join([*lines[:3], f"… {len(lines) - 4} more rows …", json.dumps({"summary": summary})]))
        if summary["rows"] != generated.rare.events:
            raise InternalError(f"REST gave {summary['rows']} rows of {generated.rare.events}")


def print_title(text: str) -> None:
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def format_command(*arguments: str) -> str:
    return escape_line_controls(shlex.join(["watchfloor", *arguments]))


def run_command(settings: Settings, *arguments: str) -> None:
    """Prints a command and runs it in this process. Raises InternalError if it fails, as none of them should."""
    print(f"$ {format_command(*arguments)}", flush=True)
    status = watchfloor(["--home", str(settings.home), *arguments])
    sys.stderr.flush()
    if status:
        raise InternalError(f"`{format_command(*arguments)}` ended with status {status}")


@contextmanager
def run_in_background(settings: Settings, *arguments: str) -> Iterator[None]:
    """Prints a command and runs it in a process of its own, whose messages go to the stack's log folder."""
    print(f"$ {format_command(*arguments)} &", flush=True)
    with run_background(settings, _log_path(settings, arguments[0]), *arguments):
        yield


def _log_path(settings: Settings, command: str) -> Path:
    return settings.home / "log" / f"demo-{command}.log"


def _format_farewell(settings: Settings) -> str:
    option = "" if settings.home.name == ".watchfloor" else f"--home {shlex.quote(show_path(settings.home))} "
    return f"""
The stack goes on running (`watchfloor {option}status`). To go on, in this folder:
  .venv/bin/watchfloor {option}query zeek.http --where 'status_code = 404' --limit 20
  .venv/bin/watchfloor {option}load FILE --source web.access
  .venv/bin/watchfloor {option}serve
To stop it: make down. What it holds stays in {show_path(settings.home)} and is there again after `watchfloor up`."""
