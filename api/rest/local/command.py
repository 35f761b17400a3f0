"""The route by which a command asks the service of its user: the same answer as the command itself would print."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from flask import Response

from watchfloor.api.cli.reading.answering import PrintedStream, prepare_answer, prepare_stream
from watchfloor.api.cli.reading.ask_service import MEDIA_TYPE, PATH
from watchfloor.api.cli.reading.identity import describe_identity
from watchfloor.api.cli.reading.parts import Part, PartKind, describe_error
from watchfloor.api.cli.reading.question import STREAMED, WHOLE, CommandQuestion
from watchfloor.api.records.service_metrics import QueryKind
from watchfloor.api.rest.answers.answer_stream import send_stream
from watchfloor.api.rest.base.problems import Problem
from watchfloor.api.rest.base.route import Call, Route
from watchfloor.api.rest.base.schemas import declare_object
from watchfloor.api.rest.base.stream import AnswerLimits
from watchfloor.api.results import StreamedResult
from watchfloor.schema.choices import OUTPUT_FORMATS
from watchfloor.schema.errors import OperatorError, WatchfloorError
from watchfloor.schema.files.code_state import CodeState
from watchfloor.schema.settings.settings import Settings

UNBOUNDED = AnswerLimits(rows=1 << 62, bytes=1 << 62, chunk_rows=1 << 62)
"""A command's own answer has no bounds; nor are its batches cut, as that would change some formats."""
ENDED = "the service ended this query"
ANSWERING_ROOMS = ("schema", "store", "planner", "query", "api")
"""The rooms whose code makes the answers of commands."""


def make_command_route(settings: Settings, code: CodeState) -> Route:
    """Returns the route. It refuses what a command of another identity asks, and what newer code would answer."""
    identity = describe_identity(settings)

    def answer_command(call: Call) -> Response:
        if call.body["identity"] != identity or code.is_old or call.context.is_stopping:
            raise Problem("forbidden", "this service would not answer as the command itself")
        question = CommandQuestion(
            call.body["command"], call.body["members"], call.body["form"], call.body.get("width")
        )
        # Logs and counts know the request without what is said about its command.
        asked = replace(call, body=question.members)
        return _send_answer(asked, question)

    return Route(
        method="POST",
        path=PATH,
        summary="What a command prints, in parts",
        handler=answer_command,
        body=declare_object(
            {
                "command": {"enum": [*STREAMED, *WHOLE]},
                "members": {"type": "object"},
                "form": {"enum": list(OUTPUT_FORMATS)},
                "identity": {"type": "object"},
            },
            {"width": {"type": "integer", "minimum": 0}},
        ),
        answer={},
        answer_type=MEDIA_TYPE,
        holds_slot=False,
    )


def _send_answer(call: Call, question: CommandQuestion) -> Response:
    if question.command in STREAMED:
        stream = prepare_stream(question)
        encoder = _PartEncoder(stream)
        kind: QueryKind = "stats" if question.command == "stats" else "query"
        return send_stream(call, kind, lambda: encoder.follow(stream.begin(call.service)), encoder, UNBOUNDED)
    answer, began = prepare_answer(question), time.perf_counter()
    with call.context.queries.hold_slot(call.token_name, call.is_client_gone):
        whole = answer(call.service)
    call.log_query({"status": "complete", "seconds": round(time.perf_counter() - began, 6)})
    return Response(b"".join(part.encode() for part in whole.to_parts()), content_type=MEDIA_TYPE)


class _PartEncoder:
    """Encodes the batches of a result as parts of a command's answer."""

    media_type, encoding = MEDIA_TYPE, None

    def __init__(self, stream: PrintedStream) -> None:
        self._stream = stream
        self._followed: _FollowedResult | None = None

    def follow(self, result: StreamedResult) -> StreamedResult:
        """Returns the result, whose error the answer will have as the command itself would print it."""
        self._followed = _FollowedResult(result)
        return self._followed

    def encode(self, batch: pa.RecordBatch) -> bytes:
        data = self._stream.printer.encode(batch)
        return Part(PartKind.DATA, data).encode() if data else b""

    def finish(self, summary: Mapping[str, Any], schema: pa.Schema) -> bytes:
        if summary["status"] == "failed":
            problem = summary.get("problem", {}).get("detail", ENDED)
            error = self._followed.error if self._followed is not None else None
            return describe_error(error or OperatorError(problem)).encode()
        return b"".join(part.encode() for part in self._stream.finish(dict(summary)).to_parts())


class _FollowedResult:
    """A result that keeps the error with which it has failed."""

    def __init__(self, result: StreamedResult) -> None:
        self._result = result
        self.error: WatchfloorError | None = None
        self.close: Callable[[], None] = result.close

    @property
    def schema(self) -> pa.Schema:
        return self._result.schema

    @property
    def summary(self) -> dict[str, Any]:
        return self._result.summary

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._result
        except WatchfloorError as error:
            self.error = error
            raise
