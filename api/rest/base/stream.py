"""Streams a running query as the body of an answer: a chunk per record batch, and a summary at the end.

A thread watches the clients of all streams. It cancels a stream whose client has gone or whose token is no longer in
force, and pauses the slot of a stream whose client does not keep up. Paused streams end when memory is short.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from watchfloor.api.results import StreamedResult
from watchfloor.store.bridge.threads import start_thread

from .problems import Problem, to_problem
from .query_queue import QuerySlot, SlotState

log = logging.getLogger(__name__)
POLL_SECONDS = 0.25
LINGER_SECONDS = 10.0
"""Seconds without a stream after which the thread ends that watches clients: to start one takes longer than a page."""
MEMORY_ENDED = "the service needs the memory of answers that are not read; read faster, or ask for less at once"
TOKEN_ENDED = "the token was revoked or has expired meanwhile"
PAUSE_SECONDS = 0.2
"""Seconds that a chunk may take to be sent until the stream's slot goes to another request."""
MEMORY_PATIENCE_SECONDS = 1.0
"""Seconds that a chunk may take to be sent while memory is short. A client that reads may be slower than the pause."""
CHUNK_ROWS = 4096


@dataclass(frozen=True)
class AnswerLimits:
    """The rows and bytes with which a streamed answer ends. It ends with the record batch that reaches one of them.

    At most ``chunk_rows`` rows are encoded at once, so that a stream that pauses holds few encoded rows.
    """

    rows: int
    bytes: int
    chunk_rows: int = CHUNK_ROWS


class LastChunk(bytes):
    """The last bytes of a stream. The server sends them together with the mark of the stream's end."""


class AnswerEncoder(Protocol):
    """Encodes one result as the body of an answer."""

    @property
    def media_type(self) -> str: ...

    @property
    def encoding(self) -> str | None:
        """The compression of the body; None if it has none."""

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """Returns the bytes of a batch that can be sent now, possibly none."""
        ...

    def finish(self, summary: Mapping[str, Any], schema: pa.Schema) -> bytes:
        """Returns the end of the body. ``schema`` is that of a result without any batch."""
        ...


class QueryStream:
    """The body of an answer: call ``start``, iterate once, call ``close``. Any thread may call the other methods.

    ``slot`` is given back once the result is closed, and then ``on_end`` is called with the summary. ``sent_bytes`` is
    the number of bytes handed to the server so far.
    """

    def __init__(
        self,
        result: StreamedResult,
        slot: QuerySlot,
        encoder: AnswerEncoder,
        limits: AnswerLimits,
        on_end: Callable[[Mapping[str, Any]], None] = lambda summary: None,
    ) -> None:
        self._result, self._slot, self._encoder, self._limits, self._on_end = result, slot, encoder, limits, on_end
        self._summary: dict[str, Any] | None = None
        # When the chunk that is being sent was handed over, by time.monotonic; None while the query runs.
        self._sending_since: float | None = None
        self._sending = threading.Lock()
        self._closed = self._cancelled = False
        self.sent_bytes = self._sent_rows = 0
        self._problem: Problem | None = None
        self._batches = iter(result)
        self._first: pa.RecordBatch | None = None

    def start(self) -> None:
        """Reads the first batch, so that an error before it becomes an answer of its own instead of a broken stream."""
        try:
            self._first = next(self._batches, None)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        try:
            # No reference to the first batch is kept after it is sent, because an answer may last for hours.
            first, self._first = self._first, None
            if first is not None:
                yield from self._send_batch(first)
            del first
            while not (self._cancelled or self._is_full) and (batch := next(self._batches, None)) is not None:
                yield from self._send_batch(batch)
            if self._problem is not None:
                raise self._problem
            self._summary = self._summarize()
        except Exception as error:
            self._summary = self._summarize_failure(self._problem or error)
        end = LastChunk(self._encoder.finish(self._summary, self._result.schema))
        self.sent_bytes += len(end)
        # The query is over: how soon the client reads the summary is nobody else's business.
        self.close()
        yield end

    def close(self) -> None:
        """Ends the query. The server calls it in the iterating thread, too, when the answer is sent or cut off."""
        if not self._closed:
            self._closed = True
            try:
                self._result.close()
            finally:
                self._slot.release()
                self._on_end(self._result.summary if self._summary is None else self._summary)

    @property
    def stuck_since(self) -> float | None:
        """The time, by ``time.monotonic``, since which the client has not taken a chunk if the slot is paused."""
        return self._sending_since if self._slot.state is SlotState.PAUSED else None

    def pause_if_stuck(self) -> None:
        """Pauses the slot if the client has not taken a chunk for ``PAUSE_SECONDS``."""
        with self._sending:
            since = self._sending_since
            if since is not None and time.monotonic() - since >= PAUSE_SECONDS:
                self._slot.pause()

    def cancel(self, problem: Problem | None = None) -> None:
        """Stops the query and gives its slot back at once; ``close`` still follows.

        With a ``problem`` the last record says that the stream failed by it.
        """
        self._problem, self._cancelled = problem, True
        try:
            self._result.close()
        finally:
            self._slot.release()

    @property
    def _is_full(self) -> bool:
        return self._sent_rows >= self._limits.rows or self.sent_bytes >= self._limits.bytes

    def _summarize(self) -> dict[str, Any]:
        """Returns the result's summary. That of a full answer has the status ``limit``, and a cursor to go on by."""
        if self._is_full and self._result.summary["status"] == "running":
            self._result.close()
            return {**self._result.summary, "status": "limit"}
        return dict(self._result.summary)

    def _send_batch(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        """Yields a batch in chunks of few rows each."""
        step = self._limits.chunk_rows
        for start in range(0, max(1, batch.num_rows), step):
            if self._cancelled:
                return
            if chunk := self._encoder.encode(batch.slice(start, step)):
                yield from self._send_chunk(chunk)
        self._sent_rows += batch.num_rows

    def _send_chunk(self, chunk: bytes) -> Iterator[bytes]:
        """Yields the chunk. Goes on when it was sent and the slot, if it was paused meanwhile, runs again."""
        self._sending_since = time.monotonic()
        self.sent_bytes += len(chunk)
        yield chunk
        with self._sending:
            self._sending_since = None
        self._slot.resume(lambda: self._cancelled)

    def _summarize_failure(self, error: Exception) -> dict[str, Any]:
        """Returns the summary of a stream that failed: the result's summary so far, and the problem."""
        try:
            known = dict(self._result.summary)
        except Exception:
            known = {}
        return {**known, "status": "failed", "problem": to_problem(error).to_json()}


class ClientWatcher:
    """Cancels streams whose client or token has gone, and pauses those whose client does not keep up.

    While ``is_memory_short`` returns True, it cancels streams that have been paused for ``MEMORY_PATIENCE_SECONDS``,
    those first that have waited longest.
    """

    def __init__(self, is_memory_short: Callable[[], bool]) -> None:
        self._is_memory_short = is_memory_short
        self._streams: dict[QueryStream, tuple[Callable[[], bool], Callable[[], bool]]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add_stream(
        self, stream: QueryStream, is_client_gone: Callable[[], bool], is_token_valid: Callable[[], bool]
    ) -> None:
        """Watches the client of a stream until ``remove_stream``."""
        with self._lock:
            self._streams[stream] = is_client_gone, is_token_valid
            if self._thread is None:
                self._thread = start_thread(self._poll_clients, "clients")

    def remove_stream(self, stream: QueryStream) -> None:
        with self._lock:
            self._streams.pop(stream, None)

    def _poll_clients(self) -> None:
        """Looks after the streams until there have been none for ``LINGER_SECONDS``."""
        pause, used_at = threading.Event(), time.monotonic()
        while True:
            pause.wait(POLL_SECONDS)
            with self._lock:
                if self._streams:
                    used_at = time.monotonic()
                elif time.monotonic() - used_at > LINGER_SECONDS:
                    self._thread = None
                    return
            self._look_after_streams()
            self._free_memory()

    def _look_after_streams(self) -> None:
        with self._lock:
            streams = list(self._streams.items())
        for stream, (is_client_gone, is_token_valid) in streams:
            if is_client_gone():
                log.info("a client left before its answer was complete; its query is closed")
                self.remove_stream(stream)
                stream.cancel()
            elif not is_token_valid():
                log.info("a token was revoked or has expired; its query is closed")
                self.remove_stream(stream)
                stream.cancel(Problem("unauthorized", TOKEN_ENDED))
            else:
                stream.pause_if_stuck()

    def _free_memory(self) -> None:
        """Cancels paused streams until the memory is no longer short."""
        latest = time.monotonic() - MEMORY_PATIENCE_SECONDS
        with self._lock:
            paused = [(since, stream) for stream in self._streams if (since := stream.stuck_since) is not None]
        for since, stream in sorted(paused, key=lambda pair: pair[0]):
            if since > latest:
                return
            if not self._is_memory_short():
                return
            log.warning("memory is short; the query of a client that does not read its answer is closed")
            self.remove_stream(stream)
            stream.cancel(Problem("busy", MEMORY_ENDED))
