"""The messages of a command and a standing worker to each other, a line of JSON each.

    command: the request  ─▶  worker: accepted, or refused and why
                          ◀─  progress, a beat each second, at last the result or an error

A beat says that the worker is alive. A connection that ends before the result or an error was lost.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from watchfloor.ingest.intake.load_result import FileResult, LoadProgress, LoadResult
from watchfloor.schema.errors import InternalError, OperatorError, UserError, WatchfloorError

BEAT_SECONDS = 1.0
"""The time between two beats of a worker."""
MOST_BYTES = 64 << 20
"""The length of the longest line, be it a request with the names of many files or their result."""
_KINDS: Mapping[str, type[WatchfloorError]] = {"user": UserError, "operator": OperatorError, "internal": InternalError}


@dataclasses.dataclass(frozen=True)
class WantedLoad:
    """The files of a load, absolute paths or patterns, and how they are to be loaded.

    ``digest`` is that of the command's settings. ``since`` (epoch seconds) is when the command began.
    """

    digest: str
    paths: tuple[str, ...]
    feed: str | None
    again: bool
    is_strict: bool
    since: float


def encode_request(request: WantedLoad) -> bytes:
    return _encode(dataclasses.asdict(request))


def decode_request(line: bytes) -> WantedLoad:
    """Returns the request of a line. Raises ``ValueError`` or ``TypeError`` if it is none."""
    request = WantedLoad(**json.loads(line))
    return dataclasses.replace(request, paths=tuple(map(str, request.paths)))


def encode_message(kind: str, content: object) -> bytes:
    return _encode({kind: content})


def decode_message(line: bytes) -> tuple[str, Any]:
    """Returns the kind and the content of a line. Raises ``ValueError`` if it is no message."""
    message = json.loads(line)
    if not isinstance(message, dict) or len(message) != 1:
        raise ValueError(f"no message: {line[:80]!r}")
    return next(iter(message.items()))


def encode_progress(progress: LoadProgress) -> bytes:
    return encode_message("progress", dataclasses.asdict(progress))


def encode_result(result: LoadResult) -> bytes:
    files = [{**vars(file), "misfits": [[*key, count] for key, count in file.misfits.items()]} for file in result.files]
    return encode_message("result", {"files": files, "seconds": result.seconds, "unread": result.unread})


def decode_result(content: dict[str, Any]) -> LoadResult:
    files = tuple(
        FileResult(
            **{
                **file,
                "failed": tuple(file["failed"]),
                "left_out": tuple(file["left_out"]),
                "misfits": {(source, name): count for source, name, count in file["misfits"]},
            }
        )
        for file in content["files"]
    )
    return LoadResult(files, content["seconds"], tuple(content["unread"]))


def encode_error(error: Exception) -> bytes:
    """Returns the message of an error. One that is not ours keeps its type in its text."""
    kind = next((kind for kind, family in _KINDS.items() if isinstance(error, family)), "internal")
    text = str(error) if isinstance(error, WatchfloorError) else f"{type(error).__name__}: {error}"
    return encode_message("error", [kind, text])


def decode_error(content: tuple[str, str]) -> WatchfloorError:
    kind, text = content
    return _KINDS.get(kind, InternalError)(text)


def _encode(content: object) -> bytes:
    return json.dumps(content).encode() + b"\n"
