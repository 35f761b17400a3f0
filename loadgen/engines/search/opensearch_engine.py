"""OpenSearch, a server that is asked over its REST interface.

Indexed fields are terms; each segment is in order of time, so that the newest events are found first. Other fields are
only in the stored event.
"""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any

import orjson

from watchfloor.ingest.files.lines import Chunk, read_chunks
from watchfloor.loadgen.engines.answer import AnswerRows
from watchfloor.loadgen.engines.limits import MEMORY_MB, THREADS
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.schema.errors import StackError
from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

from .opensearch_server import HOST, OpenSearchServer

_TYPES = {
    FieldType.STRING: "keyword",
    FieldType.IP: "ip",
    FieldType.PORT: "integer",
    FieldType.INT: "long",
    FieldType.FLOAT: "double",
    FieldType.BOOL: "boolean",
}
_BULK_BYTES = 10 << 20
_PAGE = 10_000
"""The largest number of events in one answer of the server."""
_KEEP_ALIVE = "5m"
"""The time for which the server keeps a point in time between two pages."""
_TIMEOUT = 3600  # seconds: merging millions of events is one request


class OpenSearchEngine:
    """A server with one index, started for this engine."""

    def __init__(self, folder: Path, source: Source) -> None:
        self._time = source.time_field
        self._index = _make_index_settings(source)
        self._server = OpenSearchServer(Path(os.environ["OPENSEARCH_HOME"]).resolve(), folder)
        self._client = OpenSearchClient(self._server.port)

    def recreate_table(self) -> None:
        self._client.send_request("DELETE", "/events?ignore_unavailable=true")
        self._client.send_request("PUT", "/events", self._index)

    def load_file(self, path: Path) -> None:
        chunks, lock = read_chunks(path, chunk_bytes=_BULK_BYTES), Lock()

        def send() -> None:
            with closing(OpenSearchClient(self._server.port)) as client:
                while True:
                    with lock:
                        chunk = next(chunks, None)
                    if chunk is None:
                        return
                    _send_chunk(client, chunk)

        with ThreadPoolExecutor(THREADS) as pool:
            for sent in [pool.submit(send) for _ in range(THREADS)]:
                sent.result()
        self._client.send_request("POST", "/events/_refresh")

    def finish_merges(self) -> None:
        self._client.send_request("POST", "/events/_forcemerge?max_num_segments=1")
        self._client.send_request("POST", "/events/_flush")
        self._client.send_request("POST", "/events/_refresh")

    def measure_disk(self) -> int:
        stats = self._client.send_request("GET", "/events/_stats/store")
        return int(stats["_all"]["primaries"]["store"]["size_in_bytes"])

    def count_events(self) -> int:
        return int(self._client.send_request("GET", "/events/_count")["count"])

    def count_matches(self, question: EngineQuestion) -> int:
        return int(self._client.send_request("POST", "/events/_count", {"query": _make_query(question)})["count"])

    def read_rows(self, question: EngineQuestion) -> Iterator[AnswerRows]:
        """Yields the rows; those of a question without a limit come in pages from one point in time."""
        body: dict[str, Any] = {"query": _make_query(question), "track_total_hits": False}
        # ``_doc``, the document's own number, orders events of the same time across pages.
        body["sort"] = [{self._time: "desc"}, "_doc"] if question.kind is QuestionKind.NEWEST else ["_doc"]
        if question.limit is not None:
            body |= {"sort": body["sort"][:1], "size": question.limit}
            yield _extract_events(self._search_hits("/events/_search", body))
            return
        opened = self._client.send_request("POST", f"/events/_search/point_in_time?keep_alive={_KEEP_ALIVE}")["pit_id"]
        body |= {"size": _PAGE, "pit": {"id": opened, "keep_alive": _KEEP_ALIVE}}
        while hits := self._search_hits("/_search", body):
            yield _extract_events(hits)
            if len(hits) < _PAGE:
                break
            body["search_after"] = hits[-1]["sort"]
        self._client.send_request("DELETE", "/_search/point_in_time", {"pit_id": [opened]})

    def close(self) -> None:
        self._client.close()
        self._server.close()

    def _search_hits(self, path: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the hits of a search, only with each event and its sort key."""
        answer = self._client.send_request("POST", f"{path}?filter_path=hits.hits._source,hits.hits.sort", body)
        hits: list[dict[str, Any]] = answer.get("hits", {}).get("hits", [])
        return hits


class OpenSearchClient:
    """One open HTTP connection to the server."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)

    def send_request(self, method: str, path: str, body: Mapping[str, Any] | bytes | None = None) -> dict[str, Any]:
        """Sends a request and returns the parsed answer. A ``body`` of bytes is lines of JSON.

        Raises StackError with the server's message for an answer that is an error.
        """
        lines = isinstance(body, bytes)
        kind = {"Content-Type": "application/x-ndjson" if lines else "application/json"} if body is not None else {}
        sent = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        self._connection.request(method, path, sent, kind)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise StackError(f"{method} {path}: {answer.status}: {text[:1000].decode(errors='replace')}")
        parsed: dict[str, Any] = orjson.loads(text)
        return parsed

    def close(self) -> None:
        self._connection.close()


def _make_index_settings(source: Source) -> dict[str, Any]:
    """Returns the settings that OpenSearch's guides advise for logs and for large loads.

    There are no replicas, no refresh during the load and a longer log of writes (a quarter of the heap); only the
    fields that are asked for are mapped.
    """
    fields: dict[str, Any] = {
        field.name: {"type": _TYPES[field.type], "doc_values": False} for field in source.indexed_fields
    }
    fields[source.time_field] = {"type": "date_nanos"}
    return {
        "settings": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "translog.flush_threshold_size": f"{MEMORY_MB // 8}mb",
            "store.stats_refresh_interval": "0s",
            "sort.field": source.time_field,
            "sort.order": "desc",
        },
        "mappings": {"dynamic": False, "properties": fields},
    }


def _send_chunk(client: OpenSearchClient, chunk: Chunk) -> None:
    action = b'{"create":{}}\n'
    body = b"".join(action + line + b"\n" for line in chunk.data.splitlines())
    answer = client.send_request("POST", "/events/_bulk?filter_path=errors,items.*.error", body)
    if answer["errors"]:
        raise StackError(f"not all events were taken: {orjson.dumps(answer['items'][:3]).decode()}")


def _make_query(question: EngineQuestion) -> dict[str, Any]:
    """Returns the query in filter context, which computes no scores."""
    return {"bool": {"filter": [{"term": {question.field: question.value}}]}}


def _extract_events(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [hit["_source"] for hit in hits]
