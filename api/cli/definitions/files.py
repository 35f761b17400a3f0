"""Reads a definition from the file that a user names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchfloor.schema.files.paths import describe_error, find_named_path, show_path

if TYPE_CHECKING:
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
