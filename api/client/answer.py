"""The answer to a query or an aggregation: its rows as they arrive, and its summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPResponse
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from .connection import Exchange, ServiceConnection, ServiceRequest
from .errors import AnswerCutOff, ClientError, ServiceProblem

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

Row = dict[str, Any]
Item = TypeVar("Item")
_MEDIA_TYPES = {"ndjson": "application/x-ndjson", "arrow": "application/vnd.apache.arrow.stream"}
_SUMMARY_KEY = b"watchfloor.summary"
"""The name of the metadata that has the summary, in the last batch of an Arrow stream."""
_NO_SUMMARY = "its summary is missing"


@dataclass(frozen=True)
class Summary:
    """The end of an answer.

    ``status`` is ``complete``, or ``limit``, ``deadline`` or ``cancelled`` where there may be more rows. ``cursor`` is
    the text with which a query goes on there, or None. ``members`` has all that the service tells, such as the plan.
    """

    status: str
    rows: int
    cursor: str | None
    members: Mapping[str, Any]


class ServiceAnswer:
    """The rows of one answer, to be read once: by iteration, by ``read_batches`` or by a method ``to_…``.

    The request is sent when reading begins. Reading raises ``ServiceProblem`` if the query fails, before any row or
    after it, and ``AnswerCutOff`` if the answer ends without its summary. ``summary`` is None until all rows are read.

    ``cancel`` ends the query on the service, and so do the end of a ``with`` block and an iteration that is left.
    """

    def __init__(
        self,
        connection: ServiceConnection,
        request: ServiceRequest,
        list_rows: Callable[[Row], list[Row]] = lambda record: [record],
    ) -> None:
        self._connection, self._request, self._list_rows = connection, request, list_rows
        self._exchange, self._is_begun, self._rows = Exchange(), False, 0
        self.summary: Summary | None = None

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows as the service writes them in JSON: times are texts, and nulls are left out."""
        return self._read_answer("ndjson", self._read_rows)

    def read_batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows as Arrow record batches, with the types of their fields, as they arrive."""
        return (batch for batch in self._read_answer("arrow", self._read_arrow) if batch.num_rows)

    def to_arrow(self) -> pa.Table:
        """Returns all rows as an Arrow table."""
        return import_module("pyarrow").Table.from_batches(self._read_answer("arrow", self._read_arrow))

    def to_pandas(self) -> pandas.DataFrame:
        """Returns all rows as a pandas frame. Raises ``ClientError`` if pandas is not installed."""
        _import_library("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Returns all rows as a polars frame. Raises ``ClientError`` if polars is not installed."""
        return _import_library("polars").from_arrow(self.to_arrow())

    def cancel(self) -> None:
        """Ends the query on the service; its rows end there. Any thread may call it, at any time."""
        self._exchange.end()

    def __enter__(self) -> ServiceAnswer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.cancel()

    def _read_answer(self, form: str, read_items: Callable[[HTTPResponse], Iterator[Item]]) -> Iterator[Item]:
        """Sends the request and yields what ``read_items`` makes of the answer, until its end or ``cancel``."""
        if self._is_begun:
            raise ClientError("this answer has been read already; ask again for another")
        self._is_begun = True
        request = replace(self._request, parameters={"format": form})
        try:
            with closing(self._connection.send(request, self._exchange)) as answer:
                if (media_type := answer.headers.get_content_type()) != _MEDIA_TYPES[form]:
                    raise ClientError(
                        f"the answer is {media_type}, not {form}; check the service's address and version"
                    )
                yield from read_items(answer)
        except ServiceProblem:
            raise
        except (OSError, HTTPException, ClientError) as error:
            if self._exchange.is_ended:
                return
            raise error if isinstance(error, ClientError) else AnswerCutOff(str(error), self._rows) from error
        finally:
            self._exchange.end()

    def _read_rows(self, answer: HTTPResponse) -> Iterator[Row]:
        last: Row | None = None
        for line in _read_lines(answer):
            if last is not None:
                yield last  # an event that looks like a summary, but is not at the end
            record = orjson.loads(line)
            last = record if _may_be_summary(record) else None
            if last is None:
                for row in self._list_rows(record):
                    self._rows += 1
                    yield row
        if last is None:
            raise AnswerCutOff(_NO_SUMMARY, self._rows)
        self._finish(last["summary"])

    def _read_arrow(self, answer: HTTPResponse) -> Iterator[pa.RecordBatch]:
        """Yields the batches; the last one has no rows, so that there is one for the schema of an empty answer."""
        pa = import_module("pyarrow")
        try:
            reader = pa.ipc.open_stream(pa.PythonFile(answer, "r"))
            metadata = None
            while metadata is None or _SUMMARY_KEY not in metadata:
                batch, metadata = reader.read_next_batch_with_custom_metadata()
                self._rows += batch.num_rows
                yield batch
        except (pa.ArrowInvalid, StopIteration) as error:
            raise AnswerCutOff(_NO_SUMMARY, self._rows) from error
        self._finish(orjson.loads(metadata[_SUMMARY_KEY]))

    def _finish(self, members: Mapping[str, Any]) -> None:
        """Keeps the summary. Raises the problem of a query that has failed."""
        self.summary = Summary(members["status"], members["rows"], members.get("cursor"), members)
        if self.summary.status == "failed":
            raise ServiceProblem(members["problem"])


def _read_lines(answer: HTTPResponse) -> Iterator[bytes]:
    """Yields the whole lines of an answer as soon as they are here."""
    rest = b""
    while some := answer.read1(1 << 20):
        *lines, rest = (rest + some).split(b"\n")
        yield from lines


def _may_be_summary(record: Row) -> bool:
    return record.keys() == {"summary"} and isinstance(record["summary"], dict) and "status" in record["summary"]


def _import_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ClientError(f"{name} is not installed: pip install {name}; or read the answer by to_arrow()") from None
