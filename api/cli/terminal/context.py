"""What commands share: settings from the global options, an open store, and rows for people."""

from __future__ import annotations

import os
import signal
import sys
import threading
import tomllib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from watchfloor.schema.choices import ROW_FORMATS
from watchfloor.schema.errors import SettingsError

if TYPE_CHECKING:
    from watchfloor.query.service import QueryService
    from watchfloor.schema.settings.settings import Role, Settings
    from watchfloor.store.store import Store

Run = Callable[[Namespace], int | None]


class Add(Protocol):
    """Adds a command to the command line: its name, what it runs, and a line about it."""

    def __call__(self, name: str, run: Run, summary: str) -> ArgumentParser: ...


def say(line: str) -> None:
    """A line for people, on standard error."""
    print(line, file=sys.stderr, flush=True)


def settings_of(args: Namespace, **flags: Any) -> Settings:
    """The settings: defaults < file < environment < flags. ``flags`` that are None were not given."""
    from watchfloor.schema.settings.settings import ENVIRONMENT, load_settings

    if args.config is None:
        return load_settings(home=args.home, overrides=flags)
    # A file that was named on the command line still gives way to the environment.
    given = {k: v for k, v in _config(args.config).items() if not os.environ.get(ENVIRONMENT + k.upper())}
    return load_settings(home=args.home, overrides=given | {k: v for k, v in flags.items() if v is not None})


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Set by SIGTERM and by Ctrl-C, of which a second one interrupts."""
    stop = threading.Event()
    # A handler may run while this thread is within the event and holds its lock: so another thread sets it.
    heard, told = os.pipe()
    signals: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        if signals and number == signal.SIGINT:
            raise KeyboardInterrupt
        signals.append(number)
        os.write(told, b"!")

    def listen() -> None:
        if os.read(heard, 1):
            stop.set()

    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
        os.close(told)
        listener.join()
        os.close(heard)


@contextmanager
def open_store(settings: Settings, role: Role = "query") -> Iterator[Store]:
    """A store with the rights of a role's user."""
    from watchfloor.store.store import Store

    with Store.open(settings, role=role) as store:
        yield store


@contextmanager
def open_service(args: Namespace) -> Iterator[QueryService]:
    """A query service with the rights of the query user."""
    from watchfloor.query.service import QueryService

    with open_store(settings_of(args)) as store:
        yield QueryService(store)


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], form: str | None) -> None:
    """Rows of plain values on standard output, in a format of ``ROW_FORMATS``."""
    import pyarrow as pa

    from watchfloor.api.formats.writers import open_output, open_writer

    batch = pa.record_batch([pa.array([row.get(name) for row in rows]) for name in columns], names=list(columns))
    with open_output(None) as out:
        writer = open_writer(form or default_format(None), out, all_columns=True)
        writer.write(batch)
        writer.close()


def add_format(parser: ArgumentParser, formats: Sequence[str] = ROW_FORMATS) -> None:
    parser.add_argument(
        "--format", choices=formats, metavar="|".join(formats), help="default: table on a terminal, else ndjson"
    )


def add_range(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--since", metavar="TIME", help="from this time on: 2026-01-08T12:00:00Z (no zone: UTC), 2026-01-08, epoch, -4h"
    )
    parser.add_argument("--until", metavar="TIME", help="up to and without this time")


def default_format(output: str | None) -> str:
    return "table" if output is None and sys.stdout.isatty() else "ndjson"


def _config(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"--config {path} cannot be read: {error}") from None
