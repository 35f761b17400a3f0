"""A running query as NDJSON: a chunk per record batch, and a summary as the last record."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import orjson
import pyarrow as pa

from watchfloor.api.formats.ndjson_writer import encode_ndjson
from watchfloor.store.bridge.jvm import visit

from .problems import problem_of

log = logging.getLogger(__name__)
POLL_SECONDS = 0.25


class Result(Protocol):
    """What the query service's ``run`` returns. ``close`` may be called from another thread and ends the iteration."""

    @property
    def summary(self) -> dict[str, Any]: ...

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None: ...


class QueryStream:
    """The body of an answer: ``start`` it, iterate it once, ``close`` it. ``cancel`` may come from another thread."""

    def __init__(self, result: Result, done: Callable[[], None]) -> None:
        self._result, self._done = result, done
        self._closed = self._cancelled = False
        self._batches = iter(result)
        self._first: pa.RecordBatch | None = None

    def start(self) -> None:
        """Reads the first batch, so that what fails before it is an answer of its own and no broken stream."""
        try:
            self._first = next(self._batches, None)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        try:
            # The batch is let go of once it is sent: an answer may last for hours.
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
            summary = self._failure(error)
        yield orjson.dumps({"summary": summary}) + b"\n"

    def close(self) -> None:
        """Ends the query; called by the thread that iterates (by waitress, when the answer is sent or cut off)."""
        if not self._closed:
            self._closed = True
            try:
                self._result.close()
            finally:
                self._done()

    def cancel(self) -> None:
        """Stops the query at once; ``close`` still follows."""
        self._cancelled = True
        self._result.close()

    def _failure(self, error: Exception) -> dict[str, Any]:
        """The summary of a stream that broke: what is known so far, and the problem inside."""
        try:
            known = dict(self._result.summary)
        except Exception:
            known = {}
        return {**known, "status": "failed", "problem": problem_of(error).to_json()}


class Abandoned:
    """Closes streams whose client has gone, while they wait for the store and have nothing to send."""

    def __init__(self) -> None:
        self._streams: dict[QueryStream, Callable[[], bool]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, stream: QueryStream, gone: Callable[[], bool]) -> None:
        with self._lock:
            self._streams[stream] = gone
            if self._thread is None:
                self._thread = threading.Thread(target=visit()(self._poll), name="abandoned-streams", daemon=True)
                self._thread.start()

    def forget(self, stream: QueryStream) -> None:
        with self._lock:
            self._streams.pop(stream, None)

    def _poll(self) -> None:
        """Runs as long as there are streams."""
        pause = threading.Event()
        while True:
            pause.wait(POLL_SECONDS)
            with self._lock:
                if not self._streams:
                    self._thread = None
                    return
                left = [stream for stream, gone in self._streams.items() if gone()]
            for stream in left:
                log.info("a client left before its answer was complete; its query is closed")
                self.forget(stream)
                stream.cancel()
