"""The errors of the client: the service's problems, answers that are not whole, and a service that is not reached."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPMessage
from typing import Any

import orjson

from watchfloor.schema.errors import WatchfloorError

_SHOWN_TEXT = 300
"""The most characters that a message repeats of an answer that is no problem, such as a proxy's error page."""


class ClientError(WatchfloorError):
    """Base of the client's errors. It is raised itself where the caller or the caller's installation must change."""


class ServiceUnreachable(ClientError):
    """No answer came: nothing listens at the address, the host is not known, or the service says nothing."""

    def __init__(self, url: str, cause: Exception) -> None:
        if isinstance(cause, ConnectionRefusedError):
            super().__init__(f"nothing listens at {url}; is the service running?")
        else:
            super().__init__(f"no answer from {url}: {cause or type(cause).__name__}")


class AnswerCutOff(ClientError):
    """An answer ended before its end mark. ``rows`` is the number of rows that came before; there may be more."""

    def __init__(self, reason: str, rows: int = 0) -> None:
        self.rows = rows
        super().__init__(f"the answer was cut off after {rows:,} rows ({reason}); ask again")


class ServiceProblem(ClientError):
    """A problem (RFC 9457) with which the service answered, or with which it ended a stream.

    ``kind`` is the end of the problem's type, such as ``bad-filter``, and empty if the answer was no problem.
    ``position`` is the 0-based character of a filter that is wrong, and ``caret`` its line with a caret under it; both
    are None elsewhere. ``errors`` are the faults of a body, each with ``pointer`` and ``detail``.
    ``retry_after`` is the number of seconds after which the service wants to be asked again. ``members`` has all.
    """

    def __init__(self, members: Mapping[str, Any], status: int = 0, retry_after: float | None = None) -> None:
        self.members, self.retry_after = members, retry_after
        self.kind = str(members.get("type", "")).rpartition(":")[2]
        self.status = int(members.get("status") or status)
        self.title, self.detail = str(members.get("title", "")), str(members.get("detail", ""))
        self.position: int | None = members.get("position")
        self.caret: str | None = members.get("caret")
        self.errors: list[dict[str, str]] = members.get("errors", [])
        faults = "".join(f"\n  {error['pointer'] or 'the body'}: {error['detail']}" for error in self.errors)
        super().__init__(f"{self.title or f'HTTP status {self.status}'}: {self.detail}{faults}")

    @classmethod
    def from_answer(cls, status: int, headers: HTTPMessage, body: bytes) -> ServiceProblem:
        """Returns the problem of an answer that is not of status 200."""
        after = headers.get("Retry-After", "")
        retry_after = float(after) if after.isdecimal() else None
        if headers.get_content_type() == "application/problem+json":
            try:
                return cls(orjson.loads(body), status, retry_after)
            except orjson.JSONDecodeError:
                pass  # a part of one, which is told as any other text
        text = " ".join(body.decode("utf-8", "replace").split())[:_SHOWN_TEXT]
        return cls(
            {"detail": text or "the answer is no problem of Watchfloor's; check the address"}, status, retry_after
        )
