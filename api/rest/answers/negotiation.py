"""Chooses the format and the compression of a stream by what the request asks for and accepts."""

from __future__ import annotations

from werkzeug.datastructures import Accept, MIMEAccept
from werkzeug.http import parse_accept_header

from watchfloor.api.formats.compression import ENCODINGS
from watchfloor.api.formats.stream_encoder import MEDIA_TYPES, StreamEncoder
from watchfloor.api.rest.base.problems import Problem
from watchfloor.api.rest.base.route import Call

FORMAT_PARAMETER = {
    "format": {
        "enum": list(MEDIA_TYPES),
        "description": "of the answer; without it the header Accept decides, else ndjson",
    }
}
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
    encodings = parse_accept_header(call.headers.get("Accept-Encoding"), Accept)
    encoding = None if form == "parquet" else encodings.best_match(("identity", *ENCODINGS), default="identity")
    return StreamEncoder(form, None if encoding == "identity" else encoding)
