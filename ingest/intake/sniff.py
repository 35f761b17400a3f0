"""What kind of log a file is, told by its first lines, and which sources its events will need."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import orjson

from watchfloor.ingest.columns.rows import split_rows
from watchfloor.ingest.files.lines import is_gzip, read_chunks
from watchfloor.ingest.formats.access_log.access_log import is_access_line
from watchfloor.ingest.formats.eve.eve import TYPE_KEY, eve_source, eve_source_name
from watchfloor.ingest.formats.json.json_values import Record
from watchfloor.ingest.formats.registry import SURICATA, ZEEK, is_family
from watchfloor.ingest.formats.zeek.zeek_fields import ID_ALIASES, KNOWN_LOGS, TIME_FIELD
from watchfloor.ingest.formats.zeek.zeek_header import ZeekHeader, parse_header
from watchfloor.ingest.formats.zeek.zeek_json import SAMPLE_LINES, log_path, sample_source
from watchfloor.ingest.formats.zeek.zeek_tsv import header_source
from watchfloor.schema.errors import InputFileError, UnknownSourceError
from watchfloor.schema.source import Source, builtin_definitions

SAMPLE_BYTES = 16 << 20
_PEEK_BYTES = 256 << 10
_PEEK_LINES = 100
_MAX_LOGS = 1000
ACCESS_SOURCE = "web.access"
_LOG_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Sniffed:
    """How a file is to be read.

    ``feed`` and ``header`` are for ``open_parser``; every byte range of the file needs the header. ``sources`` are to
    be registered before the file is queued. A file that is not ``splittable`` must be one work item: its header
    changes on the way, or it is compressed.
    """

    feed: str
    header: bytes
    sources: tuple[Source, ...]
    splittable: bool = True


def sniff(path: str | Path, feed: str | None, known: Mapping[str, Source]) -> Sniffed:
    """Tells a file's kind by its content, within what ``feed`` says; ``known`` are the catalogued sources.

    Raises ``InputFileError`` with the file, what was seen and the remedy, ``UnknownSourceError`` for a feed that is
    the name of no source.
    """
    path = Path(path)
    sources = {**builtin_definitions(), **known}
    if feed is not None and feed not in sources and not is_family(feed, ZEEK) and not is_family(feed, SURICATA):
        raise UnknownSourceError(feed, sources)
    splittable = not is_gzip(path)
    lines = list(islice(_lines(path, _PEEK_BYTES), _PEEK_LINES))
    if not lines:
        if feed is None:
            raise InputFileError(f"{path}: no lines, so nothing tells its kind; name its source, or leave it out")
        return Sniffed(feed, b"", (), splittable)
    if lines[0].startswith((b"#separator", b"#fields")):
        found = _zeek_tsv(path, feed, sources)
    elif lines[0].lstrip().startswith(b"{"):
        found = _json(path, feed, sources, lines)
    elif feed is None and any(is_access_line(line) for line in lines):
        found = Sniffed(ACCESS_SOURCE, b"", (sources[ACCESS_SOURCE],))
    elif feed is None:
        raise InputFileError(
            f"{path}: not a Zeek log, JSON lines or an access log; it begins {_show(lines[0])}; "
            "if it is one all the same, name its source"
        )
    else:
        found = Sniffed(feed, b"", (sources[feed],) if feed in sources else ())
    return found if splittable else Sniffed(found.feed, found.header, found.sources, False)


def _lines(path: Path, most: int) -> Iterator[bytes]:
    """The lines that are not blank, of the first ``most`` bytes or so."""
    for chunk in read_chunks(path, chunk_bytes=min(most, 1 << 20)):
        rows = split_rows(chunk)
        yield from map(rows.raw, range(len(rows)))
        if chunk.offset + len(chunk.data) >= most:
            return


def _zeek_tsv(path: Path, feed: str | None, sources: Mapping[str, Source]) -> Sniffed:
    head = []
    for line in _lines(path, SAMPLE_BYTES):
        if not line.startswith(b"#"):
            break
        head.append(line)
    header_lines = b"\n".join(line for line in head if not line.startswith(b"#close")) + b"\n"
    header = parse_header(header_lines)
    problem = header.problem()
    if problem:
        raise InputFileError(f"{path}: a Zeek log whose header cannot be used: {problem}; mend the header")
    base = sources.get(header.name)
    if feed is not None and feed not in (ZEEK, header.name):
        base = sources.get(feed)
        if base is None or is_family(feed, ZEEK) or base.parser["format"] != "zeek":
            raise InputFileError(f"{path}: a Zeek {header.path} log, not {feed}; name {header.name} or no source")
    derived = header_source(header, base)
    return Sniffed(derived.name, header_lines, (derived,), _one_header(path, header))


def _one_header(path: Path, header: ZeekHeader) -> bool:
    """Whether all headers in a plain file say what the first says, so that its lines can be read from any place."""
    if is_gzip(path):
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        place = data.find(b"\n#fields")
        later = header
        has_time = header.time_column() is not None
        while place >= 0:
            begin = max(data.rfind(b"\n#separator", 0, place + 1), 0)
            if begin and place - begin > _PEEK_BYTES:
                return False
            end = data.find(b"\n", data.find(b"\n", place + 1) + 1)
            later = parse_header(data[begin : end if end >= 0 else len(data)].strip(b"\n"))
            if later != header and (not has_time or later != _opened_like(header, later)):
                return False
            place = data.find(b"\n#fields", place + 1)
    return True


def _opened_like(header: ZeekHeader, other: ZeekHeader) -> ZeekHeader:
    return replace(header, opened=other.opened)


def _json(path: Path, feed: str | None, sources: Mapping[str, Source], lines: list[bytes]) -> Sniffed:
    if feed is not None and feed in sources:
        format_ = sources[feed].parser["format"]
        if not is_family(feed, ZEEK) and not is_family(feed, SURICATA):
            if format_ == "access_log":
                raise InputFileError(
                    f"{path}: JSON lines, not {feed}; it begins {_show(lines[0])}; name another source"
                )
            return Sniffed(feed, b"", (sources[feed],))
    peeked = [record for record in map(_object, lines) if record is not None]
    eve = is_family(feed, SURICATA) if feed is not None else any(map(_is_eve, peeked))
    if eve:
        return Sniffed(SURICATA, b"", _eve_sources(path, sources))
    if feed is None and not any(map(_is_zeek, peeked)):
        fitting = _fitting(peeked, sources)
        named = bool(peeked) and _named_log(path) in KNOWN_LOGS
        # A file's name says more than a few fields that another source has too, and less than all fields of one.
        if len(fitting) == 1 and (not named or fitting[0].name in builtin_definitions()):
            return Sniffed(fitting[0].name, b"", (fitting[0],))
        if not named:
            which = f"the sources {', '.join(s.name for s in fitting)} all fit" if fitting else "no known source fits"
            raise InputFileError(
                f"{path}: JSON lines, and {which}; it begins {_show(lines[0])}; "
                "name its source, or write a source definition for it"
            )
    return _zeek_json(path, feed, sources, peeked)


def _fitting(records: list[Record], sources: Mapping[str, Source]) -> list[Source]:
    """The JSON sources that have every key of ``records``, whose lines all have their time.

    Those that ship are of generated events, which have all of their fields: they never stand in the way of another.
    """
    keys = {key for record in records for key in record}
    shipped = builtin_definitions()
    return [
        source
        for source in sources.values()
        if records
        and source.parser["format"] == "json"
        and all(source.time_field in record for record in records)
        and keys <= {name for f in source.fields for name in (f.name, f.name.partition(".")[0])}
        and (source.name not in shipped or keys >= set(shipped[source.name].by_name))
    ]


def _zeek_json(path: Path, feed: str | None, sources: Mapping[str, Source], peeked: list[Record]) -> Sniffed:
    log = feed[len(ZEEK) + 1 :] if feed is not None else ""
    named = _named_log(path)
    if not log and not all(map(log_path, peeked)):
        if not _LOG_NAME.fullmatch(named):
            raise InputFileError(f"{path}: Zeek JSON of no named log; name its source: zeek.conn, zeek.dns, …")
        log = named
    samples: dict[str, list[Record]] = {}
    for line in _lines(path, SAMPLE_BYTES):
        record = _object(line)
        if record is not None and (name := log_path(record) or log):
            sample = samples.setdefault(name, []) if len(samples) < _MAX_LOGS else samples.get(name)
            if sample is not None and len(sample) < SAMPLE_LINES:
                sample.append(record)
    return Sniffed(
        f"{ZEEK}.{log}" if log else ZEEK,
        b"",
        tuple(sample_source(name, sample, sources) for name, sample in samples.items()),
    )


def _named_log(path: Path) -> str:
    """``conn`` of ``conn.log``, ``conn.2024-05-01.log.gz`` and the like."""
    return path.name.partition(".")[0].lower()


def _eve_sources(path: Path, sources: Mapping[str, Source]) -> tuple[Source, ...]:
    kinds: dict[str, None] = {}
    for line in islice(_lines(path, SAMPLE_BYTES), 10 * SAMPLE_LINES):
        record = _object(line)
        kind = record.get(TYPE_KEY) if record is not None else None
        if isinstance(kind, str) and kind and len(kinds) < _MAX_LOGS:
            kinds[kind] = None
    found = {eve_source_name(kind): kind for kind in kinds}
    return tuple(sources.get(name) or eve_source(kind) for name, kind in found.items())


def _object(line: bytes) -> Record | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _is_eve(record: Record) -> bool:
    return isinstance(record.get(TYPE_KEY), str) and "timestamp" in record


def _is_zeek(record: Record) -> bool:
    return bool(log_path(record)) or (TIME_FIELD in record and bool({*ID_ALIASES, *ID_ALIASES.values()} & set(record)))


def _show(line: bytes) -> str:
    text = line[:60].decode(errors="backslashreplace")
    return repr(text + ("…" if len(line) > 60 else ""))
