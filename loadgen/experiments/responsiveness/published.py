"""The published times of the LLCySA paper's queries, which are shown beside what is measured here.

Scott M. Sawyer and B. David O'Gwynn, "Evaluating Accumulo Performance for a Scalable Cyber Data Processing Pipeline",
IEEE HPEC 2014 (arXiv 1407.5661): queries A, B and C, for a popular, a middling and an unpopular domain, by four
schemes. Table I has the time to the first result, table II the time of the whole query; the times to the 100th and the
1,000th result are in figure 5 only, a picture. A file of the form ``SCHEMA`` may be given in their place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from watchfloor.loadgen.harness.row_times import LAST, TIMED_ROWS
from watchfloor.loadgen.published.read_published import load_published
from watchfloor.schema.choices import FIXED_SCHEMES
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path

QUERIES = ("A", "B", "C")
ROWS = (*map(str, TIMED_ROWS), LAST)
TableCell = tuple[str, str, str]
"""Query, scheme and row."""


@dataclass(frozen=True)
class PublishedTimes:
    """Milliseconds by query, scheme and row; ``source`` names the edition and the tables that have them."""

    source: str
    milliseconds: Mapping[TableCell, float]


SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["source", "values"],
    "additionalProperties": False,
    "properties": {
        "source": {"type": "string", "minLength": 1, "description": "the edition and the table they were read from"},
        "values": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["query", "scheme", "row", "ms"],
                "additionalProperties": False,
                "properties": {
                    "query": {"enum": list(QUERIES)},
                    "scheme": {"enum": list(FIXED_SCHEMES)},
                    "row": {"enum": list(ROWS)},
                    "ms": {"type": "number", "exclusiveMinimum": 0, "description": "milliseconds to that row"},
                },
            },
        },
    },
}


def load_paper_times() -> PublishedTimes:
    """Returns the times of the paper's tables."""
    study = load_published()["llcysa"]
    milliseconds = {
        (row["query"], row["scheme"], place): 1000 * row["seconds"]
        for number, place in (("I", ROWS[0]), ("II", LAST))
        for row in study.tables[number].rows
    }
    return PublishedTimes(f"{study.source}, tables I and II", milliseconds)


def read_published(path: Path) -> PublishedTimes:
    """Reads times from a file. Raises ``InputFileError`` that names the place of what does not fit ``SCHEMA``."""
    try:
        written = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputFileError(f"{show_path(path)}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputFileError(f"{show_path(path)}: not JSON: {error}") from None
    worst = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMA).iter_errors(written))
    if worst is not None:
        raise InputFileError(f"{show_path(path)}: {worst.json_path}: {worst.message}")
    milliseconds: dict[TableCell, float] = {}
    for number, value in enumerate(written["values"]):
        cell = value["query"], value["scheme"], value["row"]
        if cell in milliseconds:
            raise InputFileError(f"{show_path(path)}: $.values[{number}]: {' '.join(cell)} is there twice; remove one")
        milliseconds[cell] = float(value["ms"])
    return PublishedTimes(written["source"], milliseconds)
