"""Answers a request by a stream of a running query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response

from watchfloor.api.records.service_metrics import QueryKind
from watchfloor.api.rest.base.route import Call
from watchfloor.api.rest.base.stream import AnswerEncoder, AnswerLimits, QueryStream
from watchfloor.api.results import StreamedResult


def send_stream(
    call: Call,
    kind: QueryKind,
    begin: Callable[[], StreamedResult],
    encoder: AnswerEncoder,
    limits: AnswerLimits | None = None,
) -> Response:
    """Returns the answer that streams the result of ``begin``, which is called once there is a slot for it.

    ``limits`` None stands for those of the service. Raises what ``begin`` raises, and what the result raises before its
    first batch.
    """
    context = call.context
    queue, clients = context.watches if kind == "watch" else context.queries, context.clients
    with queue.begin_in_slot(call.token_name, call.is_client_gone) as slot:
        result = begin()

    def end(summary: Mapping[str, Any]) -> None:
        clients.remove_stream(stream)
        if has_begun:
            call.end_query(kind, summary, stream.sent_bytes)

    stream, has_begun = QueryStream(result, slot, encoder, limits or context.limits.answer, end), False
    clients.add_stream(stream, call.is_client_gone, call.is_token_valid)
    stream.start()
    has_begun = True
    response = Response(stream, content_type=encoder.media_type, direct_passthrough=True)
    response.headers["Vary"] = "Accept, Accept-Encoding"
    if encoder.encoding is not None:
        response.headers["Content-Encoding"] = encoder.encoding
    return response
