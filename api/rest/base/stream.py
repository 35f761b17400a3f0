"""Streams a running query as the body of an answer: NDJSON, a chunk per record batch, and a summary at the end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pyarrow as pa
from flask import Response

from watchfloor.api.formats.ndjson_writer import encode_ndjson
from watchfloor.api.results import StreamedResult
from watchfloor.store.bridge.threads import start_thread

from .problems import to_problem

log = logging.getLogger(__name__)
NDJSON = "application/x-ndjson"
POLL_SECONDS = 0.25


class QueryStream:
    """The body of an answer: call ``start``, iterate once, call ``close``. Any thread may call ``cancel``.

    ``on_close`` is called once, after the result is closed.
    """

    def __init__(self, result: StreamedResult, on_close: Callable[[], None]) -> None:
        self._result, self._on_close = result, on_close
        self._closed = self._cancelled = False
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
            if first is not None and first.num_rows:
                yield encode_ndjson(first)
            del first
            for batch in self._batches:
                if self._cancelled:
                    break
                if batch.num_rows:
                    yield encode_ndjson(batch)
            summary = dict(self._result.summary)
        except Exception as error:
            summary = self._summarize_failure(error)
        yield orjson.dumps({"summary": summary}) + b"\n"

    def close(self) -> None:
        """Ends the query. waitress calls it in the iterating thread, when the answer is sent or cut off."""
        if not self._closed:
            self._closed = True
            try:
                self._result.close()
            finally:
                self._on_close()

    def cancel(self) -> None:
        """Stops the query at once; ``close`` still follows."""
        self._cancelled = True
        self._result.close()

    def _summarize_failure(self, error: Exception) -> dict[str, Any]:
        """Returns the summary of a stream that failed: the result's summary so far, and the problem."""
        try:
            known = dict(self._result.summary)
        except Exception:
            known = {}
        return {**known, "status": "failed", "problem": to_problem(error).to_json()}


class DisconnectWatcher:
    """Cancels streams whose client has disconnected while they wait for the store and have nothing to send."""

    def __init__(self) -> None:
        self._streams: dict[QueryStream, Callable[[], bool]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add_stream(self, stream: QueryStream, is_client_gone: Callable[[], bool]) -> None:
        """Watches the client of a stream until ``remove_stream``."""
        with self._lock:
            self._streams[stream] = is_client_gone
            if self._thread is None:
                self._thread = start_thread(self._poll_clients, "disconnected-clients")

    def remove_stream(self, stream: QueryStream) -> None:
        with self._lock:
            self._streams.pop(stream, None)

    def _poll_clients(self) -> None:
        """Cancels streams without a client, until there are no streams left."""
        pause = threading.Event()
        while True:
            pause.wait(POLL_SECONDS)
            with self._lock:
                if not self._streams:
                    self._thread = None
                    return
                abandoned = [stream for stream, is_gone in self._streams.items() if is_gone()]
            for stream in abandoned:
                log.info("a client left before its answer was complete; its query is closed")
                self.remove_stream(stream)
                stream.cancel()


def send_stream(
    result: StreamedResult,
    on_close: Callable[[], None],
    disconnects: DisconnectWatcher,
    is_client_gone: Callable[[], bool],
) -> Response:
    """Returns the answer that streams a result. Raises what the result raises before its first batch."""
    stream = QueryStream(result, on_close)
    disconnects.add_stream(stream, is_client_gone)
    try:
        stream.start()
    except BaseException:
        disconnects.remove_stream(stream)
        raise
    response = Response(stream, content_type=NDJSON, direct_passthrough=True)
    response.call_on_close(lambda: disconnects.remove_stream(stream))
    return response
