"""Runs the loads of commands in a standing worker, which has all that they would have to open first."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import ExitStack, closing, suppress
from typing import BinaryIO, Self

from watchfloor.ingest.intake.load import Load
from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.files.code_state import CodeState
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.threads import start_thread
from watchfloor.store.runtime.local_socket import (
    is_own_user,
    listen_in_folder,
    open_socket_folder,
    remove_from_folder,
    socket_of_worker,
)

from .messages import (
    BEAT_SECONDS,
    MOST_BYTES,
    WantedLoad,
    decode_request,
    encode_error,
    encode_message,
    encode_progress,
    encode_result,
)

_ROOMS = ("schema", "store", "ingest")
"""The rooms whose code a load runs."""
_MOST_LOADS = 8
_SEND_SECONDS = 30.0
log = logging.getLogger("watchfloor.standing")


class LoadServer:
    """Answers on the socket of a standing worker from ``open`` on. A context manager that closes the socket.

    A load that is refused is done by the command itself. A load ends with its command; what it has queued is read.
    """

    def __init__(self, settings: Settings, name: str, digest: str) -> None:
        self._settings, self._name, self._digest = settings, socket_of_worker(name), digest
        self._code = CodeState(_ROOMS)
        self._open = ExitStack()
        self._free = threading.Semaphore(_MOST_LOADS)

    def open(self) -> None:
        """Begins to answer, and so says that the worker is ready."""
        folder = self._open.enter_context(open_socket_folder(self._settings.home))
        listening = self._open.enter_context(closing(listen_in_folder(folder, self._name)))
        self._open.callback(remove_from_folder, folder, self._name)
        listening.listen(_MOST_LOADS * 2)
        start_thread(lambda: self._accept(listening), "accept")
        log.info("ready for loads")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # it was closed
                return
            if is_own_user(connection):
                start_thread(lambda connection=connection: self._answer(connection), "load")  # type: ignore[misc]
            else:
                log.warning("a connection of another user is refused")
                connection.close()

    def _answer(self, connection: socket.socket) -> None:
        """Answers one command. Nobody waits for errors of the connection: the command does without this worker."""
        connection.settimeout(_SEND_SECONDS)
        with suppress(OSError), connection, connection.makefile("rb") as lines:
            if request := _read_request(lines):
                if reason := self._find_obstacle(request):
                    connection.sendall(encode_message("refused", reason))
                elif not self._free.acquire(blocking=False):
                    connection.sendall(encode_message("refused", "it does other loads already"))
                else:
                    try:
                        _LoadRun(self._settings, request, connection).run()
                    finally:
                        self._free.release()

    def _find_obstacle(self, request: WantedLoad) -> str:
        """Returns why this worker would not do a load as the command itself does; empty if it would."""
        if request.digest != self._digest:
            return "its settings are others"
        return "its code has changed since it was started: `watchfloor down` and `up`" if self._code.is_old else ""


class _LoadRun:
    """One load for the command at the other end of a connection."""

    def __init__(self, settings: Settings, request: WantedLoad, connection: socket.socket) -> None:
        self._settings, self._request, self._connection = settings, request, connection
        self._sending = threading.Lock()
        self._ended = threading.Event()

    def run(self) -> None:
        """Runs the load, and sends its progress and its end. Raises ``OSError`` once the command is gone."""
        self._send(encode_message("accepted", True))
        threading.Thread(target=self._beat, name="beat", daemon=True).start()
        try:
            self._send(self._run_load())
        finally:
            self._ended.set()

    def _run_load(self) -> bytes:
        """Returns the message of the load's end."""
        asked = self._request
        try:
            load = Load(
                self._settings, asked.paths, asked.feed, workers=0, again=asked.again, is_strict=asked.is_strict
            )
            load.count_since(asked.since)
            for progress in load:
                self._send(encode_progress(progress))
            return encode_result(load.result)
        except OSError as error:
            if self._ended.is_set():
                raise
            return self._describe(error)
        except Exception as error:
            return self._describe(error)

    def _describe(self, error: Exception) -> bytes:
        if not isinstance(error, WatchfloorError):
            log.error("a load failed", exc_info=error)
        return encode_error(error)

    def _beat(self) -> None:
        with suppress(OSError):
            while not self._ended.wait(BEAT_SECONDS):
                self._send(encode_message("beat", None))

    def _send(self, line: bytes) -> None:
        with self._sending:
            try:
                self._connection.sendall(line)
            except OSError:
                self._ended.set()
                raise


def _read_request(lines: BinaryIO) -> WantedLoad | None:
    """Returns the request of a connection; None if it asks for nothing, as when it only looks whether one listens."""
    line = lines.readline(MOST_BYTES)
    try:
        return decode_request(line) if line else None
    except (ValueError, TypeError) as error:
        log.warning("a request is no load: %s", error)
        return None
