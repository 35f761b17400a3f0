"""The LLCySA paper's own figures on query responsiveness, to stand beside what is measured here.

Scott M. Sawyer and B. David O'Gwynn, "Evaluating Accumulo Performance for a Scalable Cyber Data Processing Pipeline",
IEEE HPEC 2014 (arXiv 1407.5661), figure 5 and tables I and II: queries A, B and C, for a popular, a middling and a rare
domain, by four schemes. Only the paper's abstract was at hand when this was written, so none of its values is repeated
here. Who has the paper writes them to a JSON file of the form of ``SCHEMA``, and gives that to the experiment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from watchfloor.loadgen.harness.row_times import LAST, MARKS
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.errors import InputFileError

QUERIES = ("A", "B", "C")
PAPER_SCHEMES = tuple(scheme for scheme in SCHEMES if scheme != "auto")
ROWS = (*map(str, MARKS), LAST)
Place = tuple[str, str, str]
"""Query, scheme and row: where a value stands in the table."""


@dataclass(frozen=True)
class Paper:
    """Milliseconds by their place in the table, and the edition and table that they were read from."""

    source: str
    values: Mapping[Place, float]


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
                    "scheme": {"enum": list(PAPER_SCHEMES)},
                    "row": {"enum": list(ROWS)},
                    "ms": {"type": "number", "exclusiveMinimum": 0, "description": "milliseconds to that row"},
                },
            },
        },
    },
}


def read_paper(path: Path) -> Paper:
    """Raises ``InputFileError`` that names the place of what does not fit."""
    try:
        written = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputFileError(f"{path}: not JSON: {error}") from None
    worst = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMA).iter_errors(written))
    if worst is not None:
        raise InputFileError(f"{path}: {worst.json_path}: {worst.message}")
    values: dict[Place, float] = {}
    for number, value in enumerate(written["values"]):
        place = value["query"], value["scheme"], value["row"]
        if place in values:
            raise InputFileError(f"{path}: $.values[{number}]: {' '.join(place)} is there twice; remove one")
        values[place] = float(value["ms"])
    return Paper(written["source"], values)
