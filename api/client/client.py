"""The client: a method for each thing that an analyst asks the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict, Unpack
from urllib.parse import quote

from .answer import Row, ServiceAnswer
from .connection import ServiceConnection, ServiceRequest
from .errors import ClientError

Time = str | float | datetime
"""A time as the command line takes it, such as ``-1d``; seconds since 1970; or a ``datetime`` with a time zone."""
Filter = str | Mapping[str, Any]
"""A filter as text, or as a tree in its JSON form."""


class TimeRange(TypedDict, total=False):
    """The times [since, until)."""

    since: Time
    until: Time


class CountOptions(TimeRange, total=False):
    """The events that are counted: those with a value of a field, or those that satisfy a filter."""

    field: str
    value: str
    where: str


class QueryOptions(TimeRange, total=False):
    """Members of a query, as docs/using/rest.md has them."""

    where: Filter
    columns: Sequence[str]
    own_columns: bool
    sort: str | Sequence[str]
    limit: int
    deadline: float
    cursor: str
    watch: bool
    scheme: str
    w: float
    planner: str
    batching: Mapping[str, Any]


class StatsOptions(TimeRange, total=False):
    """Members of an aggregation, as docs/using/rest.md has them."""

    where: Filter
    deadline: float
    scheme: str


class Client:
    """Asks one service with one token. It holds no connection, so it need not be closed, and threads may share it.

    ``token`` is the token, ``token_file`` a file with it. ``retry_seconds`` bounds how long a request is sent again
    that the service refuses for now, or that finds nothing listening. ``silent_seconds`` without a byte end an answer,
    but never a watch. ``ca_file`` has the certificates to trust for ``https``.
    Raises ``ClientError`` for an address or a token that cannot be one.

    All methods raise ``ServiceProblem``, ``ServiceUnreachable`` and ``AnswerCutOff``.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        token_file: str | Path | None = None,
        retry_seconds: float = 30.0,
        silent_seconds: float = 300.0,
        ca_file: str | None = None,
    ) -> None:
        if (token is None) == (token_file is None):
            raise ClientError("give either token or token_file")
        text = _read_token(Path(token_file)) if token_file is not None else token or ""
        self._connection = ServiceConnection(url, text, retry_seconds, ca_file)
        self._silent_seconds = silent_seconds

    def query(self, source: str, **options: Unpack[QueryOptions]) -> ServiceAnswer:
        """Returns the events of a source, or of several, newest first or sorted."""
        silence = None if options.get("watch") else self._silent_seconds
        return ServiceAnswer(self._connection, _make_post("/query", {"source": source, **options}, silence))

    def stats(self, source: str, stats: str | Mapping[str, Any], **options: Unpack[StatsOptions]) -> ServiceAnswer:
        """Returns the rows of an aggregation, such as ``count() by domain | sort -count | limit 10``."""
        members = {"source": source, "stats": stats, **options}
        request = _make_post("/stats", members, self._silent_seconds)
        return ServiceAnswer(self._connection, request, lambda record: record["rows"])

    def explain(self, source: str, **options: Unpack[QueryOptions]) -> dict[str, Any]:
        """Returns the plan of a query, which is not run; ``text`` has it for people."""
        return self._ask(_make_post("/explain", {"source": source, **options}, self._silent_seconds))

    def explain_stats(
        self, source: str, stats: str | Mapping[str, Any], **options: Unpack[StatsOptions]
    ) -> dict[str, Any]:
        """Returns how an aggregation would be computed."""
        members = {"source": source, "stats": stats, **options}
        return self._ask(_make_post("/stats/explain", members, self._silent_seconds))

    def find(
        self, value: str, *, kind: str | None = None, sources: str | None = None, **times: Unpack[TimeRange]
    ) -> dict[str, Any]:
        """Returns where a value occurs: ``sightings`` by source and field, with counts and times."""
        return self._get("/find", {"value": value, "kind": kind, "sources": sources, **times})

    def count(self, source: str, **condition: Unpack[CountOptions]) -> int:
        """Returns the number of events of a source that satisfy a condition."""
        return int(self._get("/count", {"source": source, **condition})["count"])

    def top(
        self, source: str, field: str, *, limit: int = 10, ascending: bool = False, where: str | None = None,
        **times: Unpack[TimeRange],
    ) -> list[Row]:  # fmt: skip
        """Returns the most frequent values of a field, or the rarest, each with ``value`` and ``count``."""
        members = {"source": source, "field": field, "limit": limit, "ascending": ascending, "where": where, **times}
        values: list[Row] = self._get("/top", members)["values"]
        return values

    def timeline(self, source: str, *, bucket: str = "hour", **condition: Unpack[CountOptions]) -> list[Row]:
        """Returns the numbers of events over time, each with ``start`` and ``count``, oldest first."""
        buckets: list[Row] = self._get("/timeline", {"source": source, "bucket": bucket, **condition})["buckets"]
        return buckets

    def sources(self) -> list[Row]:
        """Returns the sources that the token sees."""
        sources: list[Row] = self._get("/sources", {})["sources"]
        return sources

    def source(self, name: str) -> dict[str, Any]:
        """Returns one source with its definition."""
        return self._get(f"/sources/{quote(name, safe='')}", {})

    def _get(self, path: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: _to_text(value) for name, value in parameters.items() if value is not None}
        return self._ask(ServiceRequest("GET", path, given, silent_seconds=self._silent_seconds))

    def _ask(self, request: ServiceRequest) -> dict[str, Any]:
        answer: dict[str, Any] = self._connection.ask_json(request)
        return answer


def _make_post(path: str, members: Mapping[str, Any], silent_seconds: float | None) -> ServiceRequest:
    body = {name: _to_member(value) for name, value in members.items()}
    return ServiceRequest("POST", path, {}, body, silent_seconds)


def _to_member(value: Any) -> Any:
    """Returns a member of a body as JSON has it."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ClientError(f"the time {value.isoformat()} has no time zone; add one, such as tzinfo=datetime.UTC")
        return value.isoformat()
    return list(value) if isinstance(value, tuple | set) else value


def _to_text(value: Any) -> str:
    """Returns a query parameter as the address has it."""
    member = _to_member(value)
    return str(member).lower() if isinstance(member, bool) else str(member)


def _read_token(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ClientError(f"cannot read a token from {file}: {error}") from error
