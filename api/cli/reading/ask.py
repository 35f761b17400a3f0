"""Answers a command that reads data: by a running service if there is one, else by a JVM of this process."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Generator
from contextlib import closing

from watchfloor.api.cli.terminal.context import open_service, read_settings

from .ask_service import ask_service
from .parts import Part, print_parts
from .question import STREAMED, CommandQuestion


def ask(args: Namespace, question: CommandQuestion) -> int:
    """Prints the answer to a question and returns the exit status. Raises ``WatchfloorError`` if there is none.

    With ``--verbose`` this process answers, as its log is what is wanted then.
    """
    output = getattr(args, "output", None)
    if not args.verbose:
        with ask_service(read_settings(args), question) as parts:
            if parts is not None:
                return print_parts(parts, output)
    with closing(_answer_here(args, question)) as here:
        return print_parts(here, output)


def _answer_here(args: Namespace, question: CommandQuestion) -> Generator[Part, None, None]:
    """Yields the parts of the answer, by a store that this process opens."""
    from .answering import prepare_answer, prepare_stream

    if question.command in STREAMED:
        stream = prepare_stream(question)
        with open_service(args) as service:
            yield from stream.read_parts(service)
    else:
        answer = prepare_answer(question)
        with open_service(args) as service:
            whole = answer(service)
        yield from whole.to_parts()
