"""Finds out from the first lines of a file which format it has, and which sources its events need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from watchfloor.ingest.formats.registry import find_format, load_formats
from watchfloor.ingest.parsing.format import Format, Match, SniffResult
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.source import Source


def sniff_file(path: str | Path, feed: str | None, known: Mapping[str, Source]) -> SniffResult:
    """Recognises a file by its content, within what ``feed`` says; ``known`` are the catalogued sources.

    Raises ``InputFileError`` with the file, what was seen and the remedy, ``UnknownSourceError`` if ``feed`` names no
    source.
    """
    sources = {**builtin_definitions(), **known}
    named = None if feed is None else find_format(feed, sources)
    sample = FileSample(path)
    if sample.lines:
        result = _choose_format(sample, named, sources).describe(sample, feed, sources)
    elif feed is not None:
        result = SniffResult(feed, b"", ())
    else:
        raise InputFileError(f"{path}: no lines, so nothing tells its kind; name its source, or leave it out")
    return replace(result, splittable=False) if sample.compressed else result


def _choose_format(sample: FileSample, named: Format | None, sources: Mapping[str, Source]) -> Format:
    """Returns the format that fits best; the first by name if several fit equally well.

    A format that is ``named`` by the user is believed, unless the file bears the signature of another one.
    """
    formats = load_formats()
    matches = {name: text_format.match(sample, sources) for name, text_format in formats.items()}
    best = max(matches, key=lambda name: matches[name])
    if named is not None:
        return formats[best] if matches[best] is Match.SIGNATURE else named
    if matches[best] is Match.NONE:
        # Formats of JSON lines share one title.
        *others, last = dict.fromkeys(text_format.title for text_format in list(formats.values())[::-1])
        raise InputFileError(
            f"{sample.path}: not {', '.join(others)} or {last}; it begins {sample.beginning}; "
            "if it is one all the same, name its source"
        )
    return formats[best]
