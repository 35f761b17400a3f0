"""Finds out from the first lines of a file which format it has, and which sources its events need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from watchfloor.ingest.files.open_file import FileOrPath, open_file_or_path
from watchfloor.ingest.files.other_files import explain_magic
from watchfloor.ingest.formats.registry import find_format, load_formats
from watchfloor.ingest.parsing.format import Format, Match, SniffResult
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

_ZEROS = "as files do that were being written when the power failed; get the file again, or cut the zero bytes off"


def sniff_file(file: FileOrPath, feed: str | None, known: Mapping[str, Source]) -> SniffResult:
    """Recognises a file by its content, within what ``feed`` says; ``known`` are the catalogued sources.

    Raises ``InputFileError`` with the file, what was seen and the remedy, ``UnknownSourceError`` if ``feed`` names no
    source.
    """
    shipped = builtin_definitions()
    # A source that was stored before its definition had ECS names gets them with its next file.
    named_known = {name: s.adopt_ecs_names(shipped[name].fields) if name in shipped else s for name, s in known.items()}
    sources = {**shipped, **named_known}
    named = None if feed is None else find_format(feed, sources)
    with open_file_or_path(file) as opened:
        return _describe_sample(FileSample(opened), feed, named, sources)


def _describe_sample(
    sample: FileSample, feed: str | None, named: Format | None, sources: Mapping[str, Source]
) -> SniffResult:
    """Returns how the file of a sample is to be read. ``named`` is the format of ``feed``."""
    if problem := explain_magic(sample.magic):
        raise InputFileError(f"{show_path(sample.path)}: {problem}")
    if not sample.lines:
        result = _describe_no_lines(sample, feed)
    elif feed is None and not any(line.strip(b"\0") for line in sample.lines):
        raise InputFileError(f"{show_path(sample.path)}: begins with zero bytes only, {_ZEROS}")
    else:
        result = _choose_format(sample, named, sources).describe(sample, feed, sources)
    return replace(result, splittable=False) if sample.compressed else result


def _describe_no_lines(sample: FileSample, feed: str | None) -> SniffResult:
    """Returns how a file is read in which no line is seen.

    Raises ``InputFileError`` if nothing of the file can be read, or if no feed is named.
    """
    path, rejected = show_path(sample.path), sample.first_rejected()
    if rejected is not None and not rejected.offset and not rejected.raw:
        raise InputFileError(f"{path}: nothing of it can be read: {rejected.reason}; get it again")
    if feed is not None:
        return SniffResult(feed, b"", ())
    if rejected is None:
        problem = "has no lines" if sample.magic or sample.compressed else "is empty"
    elif not rejected.raw.strip(b"\0"):
        problem = f"begins with zero bytes only, {_ZEROS}"
    else:
        problem = f"has no whole line at its beginning ({rejected.reason})"
    raise InputFileError(f"{path}: {problem}, so nothing tells its kind; name its source, or leave it out")


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
            f"{show_path(sample.path)}: not {', '.join(others)} or {last}; it begins {sample.beginning}; "
            "if it is one all the same, name its source"
        )
    return formats[best]
