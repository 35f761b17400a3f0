"""Answers a request by a stream of a running query."""

from __future__ import annotations

from flask import Response

from watchfloor.api.formats.stream_encoder import StreamEncoder
from watchfloor.api.rest.base.query_queue import QuerySlot
from watchfloor.api.rest.base.route import Call
from watchfloor.api.rest.base.stream import QueryStream
from watchfloor.api.results import StreamedResult


def send_stream(call: Call, result: StreamedResult, slot: QuerySlot, encoder: StreamEncoder) -> Response:
    """Returns the answer that streams a result. Raises what the result raises before its first batch."""
    stream, clients = QueryStream(result, slot, encoder), call.context.clients
    clients.add_stream(stream, call.is_client_gone, call.is_token_valid)
    try:
        stream.start()
    except BaseException:
        clients.remove_stream(stream)
        raise
    response = Response(stream, content_type=encoder.media_type, direct_passthrough=True)
    response.headers["Vary"] = "Accept, Accept-Encoding"
    if encoder.encoding is not None:
        response.headers["Content-Encoding"] = encoder.encoding
    response.call_on_close(lambda: clients.remove_stream(stream))
    return response
