"""The parts of an answer to a command: data for standard output, lines for people, and the exit status at its end.

A service sends each as a letter, the number of bytes that follow (four bytes, the highest first), and these bytes. An
answer without its last part, the exit status or an error, is not whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO

from watchfloor.api.cli.terminal.command_group import INTERNAL, OPERATOR, USER
from watchfloor.api.cli.terminal.context import print_message
from watchfloor.schema.errors import InternalError, OperatorError, UserError, WatchfloorError

_LENGTH_BYTES = 4


class PartKind(Enum):
    """The kinds of parts: ``DATA``, ``LINE``, and the last one of an answer, ``STATUS`` or ``ERROR``."""

    DATA = b"D"
    LINE = b"L"
    STATUS = b"S"
    ERROR = b"E"


@dataclass(frozen=True)
class Part:
    """A part of an answer."""

    kind: PartKind
    content: bytes

    def encode(self) -> bytes:
        """Returns the part as a service sends it."""
        return self.kind.value + len(self.content).to_bytes(_LENGTH_BYTES, "big") + self.content


@dataclass(frozen=True)
class WholeAnswer:
    """An answer, or the end of one: data for standard output, lines for people, and the exit status."""

    data: bytes = b""
    lines: tuple[str, ...] = ()
    status: int = 0

    def to_parts(self) -> Iterator[Part]:
        yield Part(PartKind.DATA, self.data)
        for line in self.lines:
            yield Part(PartKind.LINE, line.encode("utf-8", "surrogateescape"))
        yield Part(PartKind.STATUS, str(self.status).encode())


def describe_error(error: WatchfloorError) -> Part:
    """Returns the last part of an answer that has failed."""
    status = USER if isinstance(error, UserError) else OPERATOR if isinstance(error, OperatorError) else INTERNAL
    return Part(PartKind.ERROR, json.dumps([status, str(error)]).encode())


def read_parts(stream: BinaryIO) -> Iterator[Part]:
    """Yields the parts that a service sends, until its answer ends, whole or not."""
    while len(head := stream.read(1 + _LENGTH_BYTES)) == 1 + _LENGTH_BYTES:
        length = int.from_bytes(head[1:], "big")
        if len(content := stream.read(length)) < length:
            return
        yield Part(PartKind(head[:1]), content)


def print_parts(parts: Iterator[Part], output: str | None) -> int:
    """Writes an answer to the file ``output``, or to standard output for None and ``-``, and returns the exit status.

    The file is opened with the first data. Raises ``UserError`` if it cannot be written, the error of an answer that
    has failed, and ``OperatorError`` if the answer is not whole.
    """
    from watchfloor.api.cli.terminal.output import open_output

    first = next(parts, None)
    if first is not None and first.kind is PartKind.DATA:
        with open_output(output) as out:
            out.write(first.content)
            out.flush()
            return _print_rest(parts, out)
    return _finish(first)


def _print_rest(parts: Iterator[Part], out: BinaryIO) -> int:
    last = None
    for last in parts:
        if last.kind is PartKind.DATA:
            out.write(last.content)
            out.flush()
        elif last.kind is PartKind.LINE:
            print_message(last.content.decode("utf-8", "surrogateescape"))
    return _finish(last)


def _finish(last: Part | None) -> int:
    """Returns the exit status that the last part of an answer says, or raises its error."""
    if last is None or last.kind not in (PartKind.STATUS, PartKind.ERROR):
        raise OperatorError("the answer was cut off: the service that gave it has ended; ask again")
    if last.kind is PartKind.STATUS:
        return int(last.content)
    status, text = json.loads(last.content)
    raise {USER: UserError, OPERATOR: OperatorError}.get(status, InternalError)(text)
