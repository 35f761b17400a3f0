"""The visibility expressions and authorizations of the benchmark study of 2014 (section on visibility)."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import describe_error, show_path

LABELS = ("A", "B", "C", "D", "E")
_JOINED = tuple(f"A{sign}{other}" for sign, other in product("&|", LABELS[1:]))
_TRIPLES = tuple(f"A{sign}B{sign}{other}" for sign, other in product("&|", LABELS[2:]))
STUDY_VISIBILITIES = (*LABELS, *_JOINED, *_TRIPLES)
"""Nineteen expressions, of which each ingest client chooses one at random for each block of lists."""
STUDY_AUTHORIZATIONS = (*LABELS, ",".join(LABELS))
"""Six sets of authorizations, of which each walk chooses one."""
STUDY = "study"


def read_visibilities(given: str | None) -> tuple[str, ...]:
    """Returns the expressions that ``--visibilities`` names: none, the study's, or the lines of a file.

    Raises ``UserError`` if the file cannot be read or is empty.
    """
    if given is None:
        return ()
    if given == STUDY:
        return STUDY_VISIBILITIES
    path = Path(given)
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"--visibilities {show_path(path)} cannot be read: {describe_error(error)}; give a file with an "
            f"expression a line, or {STUDY}"
        ) from error
    found = tuple(line.strip() for line in lines if line.strip())
    if not found:
        raise UserError(f"--visibilities {show_path(path)} has no expression; give one a line, or {STUDY}")
    return found


def read_authorizations(given: str | None) -> tuple[str, ...]:
    """Returns the sets of authorizations that ``--authorizations`` names, ``A;B;A,B``: of them walkers choose one."""
    if given is None:
        return ("",)
    return STUDY_AUTHORIZATIONS if given == STUDY else tuple(given.split(";"))
