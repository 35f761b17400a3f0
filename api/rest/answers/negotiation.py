"""Chooses the format and the compression of an answer by what the request asks for and accepts."""

from __future__ import annotations

from flask import Response, request
from werkzeug.datastructures import Accept, Headers, MIMEAccept
from werkzeug.http import parse_accept_header

from watchfloor.api.formats.compression import ENCODINGS, make_compressor
from watchfloor.api.formats.stream_encoder import MEDIA_TYPES, StreamEncoder
from watchfloor.api.rest.base.problems import Problem
from watchfloor.api.rest.base.route import Call

FORMAT_PARAMETER = {
    "format": {
        "enum": list(MEDIA_TYPES),
        "description": "of the answer; without it the header Accept decides, else ndjson",
    }
}
LEAST_BYTES = 1024
"""The smallest whole answer that is worth compressing."""
_NAMES = {media_type: form for form, media_type in MEDIA_TYPES.items()}


def choose_encoder(call: Call, is_live: bool = False) -> StreamEncoder:
    """Returns the encoder of a stream that answers a request.

    A media type that no format has counts as not given. Raises ``Problem`` for a live stream as Parquet, which can be
    read only as a whole.
    """
    accepted = parse_accept_header(call.headers.get("Accept"), MIMEAccept)
    form = call.parameters.get("format") or _NAMES[accepted.best_match(_NAMES, default=MEDIA_TYPES["ndjson"])]
    if is_live and form == "parquet":
        raise Problem(
            "bad-request", "Parquet can be read only when it is whole, and a watch has no end; ask for ndjson"
        )
    # Parquet is compressed already.
    return StreamEncoder(form, None if form == "parquet" else choose_encoding(call.headers))


def choose_encoding(headers: Headers) -> str | None:
    """Returns the one of ``ENCODINGS`` that a request accepts best; None if the answer is to stay as it is."""
    accepted = parse_accept_header(headers.get("Accept-Encoding"), Accept)
    encoding = accepted.best_match(("identity", *ENCODINGS), default="identity")
    return None if encoding == "identity" else encoding


def compress_answer(response: Response) -> Response:
    """Compresses a whole answer of ``LEAST_BYTES`` or more, as the present request accepts it.

    A stream compresses itself, and so does what has a strong ETag, which stands for bytes.
    """
    etag, is_weak = response.get_etag()
    if response.is_streamed or response.direct_passthrough or (etag is not None and not is_weak):
        return response
    response.vary.add("Accept-Encoding")
    encoding = choose_encoding(request.headers)
    if encoding is None or len(body := response.get_data()) < LEAST_BYTES:
        return response
    compressor = make_compressor(encoding)
    response.set_data(compressor.compress(body) + compressor.finish())
    response.headers["Content-Encoding"] = encoding
    return response
