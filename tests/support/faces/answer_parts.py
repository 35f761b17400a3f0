"""Takes answers apart: undoes their compression, and checks streamed ones by the schemas of their parts."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import schemathesis
from jsonschema import Draft202012Validator

from watchfloor.api.formats.stream_encoder import EVENT_STREAM, NDJSON
from watchfloor.api.rest.openapi.document import LINE_SCHEMA


def check_lines(schema: Mapping[str, Any], text: str) -> None:
    """Checks that each line fits the schema that is declared for lines, and that the last one alone is the summary.

    Raises ``AssertionError`` or jsonschema's ``ValidationError``.
    """
    lines = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
    for number, line in enumerate(lines, 1):
        Draft202012Validator(schema[LINE_SCHEMA]).validate(line)
        assert ([*line] == ["summary"]) == (number == len(lines)), f"line {number} of {len(lines)}: {line}"


def check_messages(schema: Mapping[str, Any], text: str, is_whole: bool = True) -> None:
    """Checks that server-sent events and their data fit the schema, and that the last one alone is the summary.

    An answer that is not whole lacks its end.
    """
    messages = list(_read_messages(text))
    event, summary = schema["properties"]["data"]["contentSchema"]["anyOf"]
    for number, message in enumerate(messages, 1):
        Draft202012Validator(schema).validate(message)
        is_summary = message.get("event") == "summary"
        assert is_summary == (is_whole and number == len(messages)), f"{number} of {len(messages)}: {message}"
        Draft202012Validator(summary if is_summary else event).validate(json.loads(message["data"]))
    assert messages, "an answer without a summary"


def _read_messages(text: str) -> Iterator[dict[str, str]]:
    """Yields the members of each message; comments are none."""
    for block in text.split("\n\n"):
        lines = [line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":")]
        if lines:
            yield dict(lines)


@schemathesis.check
def parts_conformance(ctx: Any, response: Any, case: Any) -> None:
    """Checks the parts of a streamed answer. Schemathesis itself knows nothing of lines, or of the data of messages."""
    if response.status_code != 200:
        return
    media_type = response.headers["content-type"][0].partition(";")[0]
    content = case.operation.definition.raw["responses"]["200"]["content"].get(media_type, {})
    if media_type == NDJSON:
        check_lines(content["schema"], response.text)
    elif media_type == EVENT_STREAM:
        check_messages(content["schema"], response.text, is_whole=not response.stream_cut_short)


def decompress(content: bytes, encoding: str) -> bytes:
    """Returns the content of an answer without its ``Content-Encoding``, which is empty if it has none."""
    if encoding == "gzip":
        return zlib.decompress(content, 31)
    if encoding == "zstd":
        return bytes(pa.CompressedInputStream(pa.BufferReader(content), "zstd").read())
    assert not encoding
    return content
