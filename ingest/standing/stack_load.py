"""The command's side of a load that a standing worker of the stack does, and what it does without one.

Asking needs none of the modules of a load, nor a JVM: those are imported only if the worker is lost.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, BinaryIO

from watchfloor.ingest.intake.load_result import LoadProgress, LoadResult
from watchfloor.schema.errors import InternalError, OperatorError
from watchfloor.schema.files.addresses import is_address
from watchfloor.schema.files.paths import find_path
from watchfloor.schema.settings.purposes import digest_ingest
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.local_socket import connect_locally, list_worker_sockets

from .messages import MOST_BYTES, WantedLoad, decode_error, decode_message, decode_result, encode_request

if TYPE_CHECKING:
    from watchfloor.ingest.worker.pool import WorkerPool

_SILENT_SECONDS = 10.0
"""A worker that says nothing for so long is stopped or stuck."""
_RESTART_SECONDS = 6.0
"""The supervisor has started another worker by then, if it can."""
_STUCK_SECONDS = 20.0
"""A load of which nothing is read for so long gets workers of its own: the stack's have other work, or are lost."""
_RETRY_SECONDS = 1.0
log = logging.getLogger("watchfloor.standing")


class LostWorker(Exception):
    """The worker has ended, or says nothing any more, in the middle of a load. The text says which."""


class AskedLoad:
    """A load that a standing worker has accepted. Iterates over its progress; ``result`` is there afterwards."""

    def __init__(self, lines: BinaryIO) -> None:
        self._lines = lines
        self.result: LoadResult | None = None

    def __iter__(self) -> Iterator[LoadProgress]:
        """Yields the progress. Raises the load's error, or ``LostWorker``."""
        while self.result is None:
            try:
                line = self._lines.readline(MOST_BYTES)
                if not line:
                    raise LostWorker("has ended")
                kind, content = decode_message(line)
            except TimeoutError:
                raise LostWorker(f"has said nothing for {_SILENT_SECONDS:.0f} s") from None
            except (OSError, ValueError) as error:
                raise LostWorker(f"was lost: {error}") from None
            if kind == "error":
                raise decode_error(content)
            if kind == "result":
                self.result = decode_result(content)
            elif kind == "progress":
                yield LoadProgress(**content)


class StackLoad:
    """A load by a standing worker; by other workers if that is lost. Iterates like ``Load``, and has its ``result``."""

    def __init__(self, settings: Settings, request: WantedLoad, asked: AskedLoad, opened: ExitStack) -> None:
        """``opened`` has the connection to the worker that has accepted it as ``asked``."""
        self._settings, self._request, self._asked, self._opened = settings, request, asked, opened
        self._began = time.monotonic()
        self._last = LoadProgress("starting", 0, 0, 0, 0, 0, 0.0)
        self._pool: WorkerPool | None = None
        self._result: LoadResult | None = None

    @property
    def result(self) -> LoadResult:
        """The totals; there once the iteration has ended."""
        if self._result is None:
            raise InternalError("the load has not ended")
        return dataclasses.replace(self._result, seconds=time.monotonic() - self._began)

    def __iter__(self) -> Iterator[LoadProgress]:
        asked: AskedLoad | None = self._asked
        with self._opened:
            while self._result is None:
                if asked is None:
                    yield from self._load_here()
                    continue
                try:
                    yield from self._follow(asked)
                    self._result = asked.result
                    return
                except LostWorker as lost:
                    problem = f"the stack's worker {lost}; the load goes on with another"
                    log.warning("%s", problem)
                except KeyboardInterrupt:
                    log.warning("interrupted; the stack's workers go on with what is queued")
                    raise
                asked = yield from self._ask_again(problem)

    def _follow(self, asked: AskedLoad) -> Iterator[LoadProgress]:
        """Yields the progress of the worker's load, and has workers help it if nothing of it is read."""
        moved = time.monotonic()
        for progress in asked:
            before, self._last = self._last, progress
            stands = (before.phase, before.bytes, before.lag) == (progress.phase, progress.bytes, progress.lag)
            if not stands or progress.problem or progress.phase != "loading":
                moved = time.monotonic()
            elif time.monotonic() - moved > _STUCK_SECONDS:
                self._start_workers()
            if self._pool is not None:
                self._pool.restart_dead()
            yield self._retime(progress)

    def _start_workers(self) -> None:
        """Starts workers for the items that the stack's do not read. They end with the load."""
        if self._pool is None:
            from watchfloor.ingest.worker.pool import WorkerPool, choose_workers

            log.warning("the stack's workers read nothing of this load: it has workers of its own now")
            pool = WorkerPool(self._settings, choose_workers(), self._settings.home / "log" / "load.log")
            self._pool = self._opened.enter_context(pool)

    def _ask_again(self, problem: str) -> Generator[LoadProgress, None, AskedLoad | None]:
        """Returns the load as another standing worker has accepted it; None if there is none for some seconds."""
        until = time.monotonic() + _RESTART_SECONDS
        while time.monotonic() < until:
            if asked := _ask_workers(self._settings, self._request, self._opened):
                log.warning("another worker of the stack does the load now")
                return asked
            yield self._wait(problem)
        return None

    def _load_here(self) -> Iterator[LoadProgress]:
        """Does the load with workers of its own, if the stack runs; else waits for a while."""
        from watchfloor.ingest.intake.load import Load
        from watchfloor.ingest.worker.load_start import LoadStart
        from watchfloor.ingest.worker.pool import choose_workers

        request, workers, has_begun = self._request, choose_workers(), False
        try:
            with LoadStart(self._settings, workers) as start:
                load = Load(
                    self._settings,
                    request.paths,
                    request.feed,
                    workers=workers,
                    again=request.again,
                    is_strict=request.is_strict,
                    start=start,
                )
                load.count_since(request.since)
                for progress in load:
                    has_begun = has_begun or progress.phase == "loading"
                    yield self._retime(progress)
                self._result = load.result
        except OperatorError as error:
            if has_begun:
                raise
            yield self._wait(f"{error}; trying again")

    def _wait(self, problem: str) -> LoadProgress:
        """Waits, and returns the last progress, which says for what."""
        time.sleep(_RETRY_SECONDS)
        return self._retime(dataclasses.replace(self._last, phase="waiting", problem=problem))

    def _retime(self, progress: LoadProgress) -> LoadProgress:
        return dataclasses.replace(progress, seconds=time.monotonic() - self._began)


def ask_for_load(
    settings: Settings, paths: Sequence[str], feed: str | None, *, again: bool, is_strict: bool
) -> StackLoad | None:
    """Asks the standing workers of a stack to load files; None if there is none that would do it as this process.

    Files that are not on this host, and bulk loads, need workers of their own: the keys of a bucket stand in the
    environment of who loads from it, and a standing worker writes live.
    """
    is_local = settings.is_accumulo_local and settings.is_kafka_local
    if not is_local or settings.ingest_mode != "live" or any(map(is_address, paths)):
        return None
    named = tuple(os.path.join(os.getcwd(), find_path(path)) for path in paths)  # noqa: PTH118, PTH109 - any bytes
    request = WantedLoad(digest_ingest(settings), named, feed, again, is_strict, time.time())
    with ExitStack() as opened:
        asked = _ask_workers(settings, request, opened)
        return StackLoad(settings, request, asked, opened.pop_all()) if asked else None


def keep_apart(settings: Settings) -> Settings:
    """Returns the settings of a load with workers of its own: beside standing workers these have a topic of their own.

    Otherwise standing workers would take items too, which they might read in another way, or not reach.
    """
    if not list_worker_sockets(settings.home):
        return settings
    # The local Kafka lets ingest use names that begin so.
    topic, group = (f"watchfloor.loads.{name}" for name in (settings.topic, settings.group))
    return dataclasses.replace(settings, topic=topic, group=group)


def _ask_workers(settings: Settings, request: WantedLoad, opened: ExitStack) -> AskedLoad | None:
    """Returns the load as a standing worker has accepted it; None if none does. ``opened`` gets the connection."""
    for name in sorted(list_worker_sockets(settings.home)):
        connection = connect_locally(settings.home, name)
        if connection is None:
            continue
        with ExitStack() as tried:
            tried.enter_context(closing(connection))
            connection.settimeout(_SILENT_SECONDS)
            try:
                connection.sendall(encode_request(request))
                lines = tried.enter_context(connection.makefile("rb"))
                kind, content = decode_message(lines.readline(MOST_BYTES))
            except (OSError, ValueError) as error:
                log.info("%s does not answer: %s", name, error)
                continue
            if kind == "accepted":
                log.info("%s does this load", name.removesuffix(".sock"))
                opened.push(tried.pop_all())
                return AskedLoad(lines)
            log.info("%s does not do this load: %s", name.removesuffix(".sock"), content)
    return None
