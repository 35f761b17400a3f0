"""Reads a definition, and opens a log, from the files that a user names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from watchfloor.api.cli.terminal.context import print_message
from watchfloor.schema.files.paths import describe_error, find_named_path, show_path

if TYPE_CHECKING:
    from watchfloor.ingest.files.open_file import OpenLog
    from watchfloor.schema.source import Source


def read_definition(file: str) -> tuple[Source, str]:
    """Returns the source that a file defines, and the file's path as it is shown."""
    from watchfloor.ingest.formats.registry import check_format
    from watchfloor.schema.definition import parse_definition
    from watchfloor.schema.errors import DefinitionError

    path = find_named_path(file)
    shown = show_path(path)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise DefinitionError(f"{shown}: cannot be read: {describe_error(error)}") from None
    return check_format(parse_definition(text, shown), shown), shown


@contextmanager
def open_named_log(path: str) -> Iterator[OpenLog]:
    """Yields the log that a user names; of an archive a member, of which it is said which."""
    from watchfloor.ingest.authoring.open_sample import open_sample

    with open_sample(find_named_path(path)) as file:
        if file.member:
            print_message(f"{show_path(str(file.name))} is an archive: this is its member {show_path(file.member)}")
        yield file
