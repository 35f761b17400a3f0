"""Zeek's logs have the types that real headers tell, and give the same events as TSV and as JSON.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from parsing_support import DATA, MemoryCatalog, log_lines, parse_chunks, shared_log

from watchfloor.ingest.files.lines import Chunk, read_chunks
from watchfloor.ingest.formats.zeek.zeek_header import ZeekHeader, parse_header
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.meaning.guess import guess_ecs_name

ZEEK = DATA / "zeek"
SHIPPED = builtin_definitions()
OLD_COLUMNS = {"zeek.ssl": {"session_id", "issuer_subject", "not_valid_before", "not_valid_after"}}
OLD_COLUMNS["zeek.ssl"] |= {"client_issuer_subject", "cert_hash"}
"""Columns of logs that Bro 2.0 wrote, which no definition has."""
MOST_LINES = 300


def headers_of(path: Path) -> Iterator[ZeekHeader]:
    data = b"".join(chunk.data for chunk in read_chunks(path))
    lines = [line for line in data.split(b"\n") if line.startswith(b"#")]
    starts = [n for n, line in enumerate(lines) if line.startswith(b"#separator")]
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        yield parse_header(b"\n".join(lines[start:end]))


def is_tsv(path: Path) -> bool:
    return next(read_chunks(path)).data.startswith(b"#separator")


TSV_LOGS = sorted(str(path.relative_to(DATA)) for path in ZEEK.rglob("*.log*") if is_tsv(path)) or ["zeek"]
JSON_LOGS = sorted(str(path.relative_to(DATA)) for path in ZEEK.rglob("*.log*") if not is_tsv(path)) or ["zeek"]


@pytest.mark.parametrize("name", TSV_LOGS)
def test_real_headers_have_the_types_of_the_definitions(name: str) -> None:
    for header in headers_of(shared_log(name)):
        source = SHIPPED.get(header.source_name)
        if source is None:
            assert header.path == "app_stats"
            continue
        for told in header.make_fields():
            if told.name not in OLD_COLUMNS.get(source.name, set()):
                known = source.fields_by_name[told.name]
                assert (known.type, known.items) == (told.type, told.items), told.name
                assert guess_ecs_name(told.name, told.scalar.value) in ("", known.ecs)


def to_json_lines(path: Path) -> bytes:
    """Writes the first lines of a TSV log as Zeek itself writes them as JSON, from the header alone."""
    (header,) = set(headers_of(path))
    lines = [line for _, line in islice(log_lines(path), 2000) if not line.startswith(b"#")][:MOST_LINES]
    names, types = ([text.decode() for text in texts] for texts in (header.names, header.types))
    records = (zip(names, types, line.decode().split("\t"), strict=True) for line in lines)
    return b"".join(
        json.dumps({name: json_value(kind, text) for name, kind, text in record if text != "-"}).encode() + b"\n"
        for record in records
    )


def json_value(kind: str, text: str) -> Any:
    name, bracket, inner = kind.partition("[")
    if bracket:
        elements = [] if text == "(empty)" else text.split(",")
        return [None if element == "-" else json_value(inner[:-1], element) for element in elements]
    if name in ("count", "int", "port"):
        return int(text)
    if name in ("time", "interval", "double"):
        return float(text)
    if name == "bool":
        return text == "T"
    plain = "" if text == "(empty)" else text
    return plain.encode().decode("unicode_escape").encode("latin-1").decode() if "\\x" in plain else plain


def events_of(path: Path, catalog: MemoryCatalog) -> list[dict[str, Any]]:
    sniffed = sniff_file(path, None, catalog.sources)
    for source in sniffed.sources:
        catalog(source.name, lambda source=source: source)  # type: ignore[misc]
    loaded = parse_chunks(read_chunks(path), sniffed.feed, sniffed.header, catalog)
    assert loaded.faults() == []
    rows = loaded.rows()[:MOST_LINES]
    return [{name: value for name, value in row.items() if name != "(offset)"} for row in rows]


@pytest.mark.parametrize("first", ["tsv", "json"])
@pytest.mark.parametrize(
    "name", [name for name in TSV_LOGS if "loaded_scripts" not in name and "app_stats" not in name]
)
def test_a_log_gives_the_same_events_as_tsv_and_as_json_in_any_order(name: str, first: str, tmp_path: Path) -> None:
    path = shared_log(name)
    as_json = tmp_path / f"sensor1_{path.name.partition('.')[0].partition('_')[0]}.log"
    if path.name.startswith(("known_", "capture_", "packet_", "smb_", "dce_", "ldap_")):
        as_json = tmp_path / f"sensor1_{path.name.partition('.')[0]}.log"
    as_json.write_bytes(to_json_lines(path))
    if not as_json.stat().st_size:
        assert path.name == "http_empty.log"
        return
    catalog = MemoryCatalog()
    both = {"tsv": path, "json": as_json}
    events = {form: events_of(both[form], catalog) for form in sorted(both, key=lambda form: form != first)}
    # A backslash of a value looks like the beginning of an escape, so lines with one prove nothing.
    pairs = zip(events["tsv"], events["json"], strict=True)
    equal = [(tsv, other) for tsv, other in pairs if "\\" not in str(tsv) + str(other)]
    assert equal or not events["tsv"] or "smb" in name or "files" in name
    for tsv, other in equal:
        assert other == tsv
    assert len(catalog.sources) == 1


@pytest.mark.parametrize("name", JSON_LOGS)
def test_real_json_needs_no_sample(name: str) -> None:
    """Lines of a log that sniffing did not see, so that all that is known of it is what ships."""
    path = shared_log(name)
    sniffed = sniff_file(path, None, {})
    catalog = MemoryCatalog()
    loaded = parse_chunks(read_chunks(path), sniffed.feed, sniffed.header, catalog)
    assert {source.name for source in sniffed.sources} == set(catalog.sources) <= set(SHIPPED)
    for source_name, source in catalog.sources.items():
        assert source == SHIPPED[source_name]
    extra = {key for row in loaded.rows() if "extra" in row for key in json.loads(row["extra"])}
    assert extra <= {"@system", "@proc", "resp_certificate_sha1"}  # of the sensor's maker
    assert all("loaded_scripts" in line.raw.decode() or "loaded_scripts" in name for line in loaded.rejected)


def test_all_real_logs_are_recognised() -> None:
    names = {sniff_file(path, None, {}).feed for path in ZEEK.rglob("*.log*")} or {"zeek"}
    assert names - set(SHIPPED) <= {"zeek", "zeek.app_stats"}


def test_infinite_values_are_kept() -> None:
    columns = {"ts": "time", "peer": "string", "bounds": "vector[double]", "sum": "double", "observations": "double"}
    names, kinds = "\t".join(columns), "\t".join(columns.values())
    head = f"#separator \\x09\n#path\ttelemetry_histogram\n#fields\t{names}\n#types\t{kinds}\n"
    line = "1709625601.5\tzeek\t0.1,1,inf\tinf\t7\n"
    loaded = parse_chunks([Chunk(0, line.encode())], "zeek", head.encode(), MemoryCatalog())
    assert loaded.faults() == []
    (row,) = loaded.rows()
    assert row["bounds"] == [0.1, 1.0, None] and row["observations"] == 7 and "sum" not in row
    assert json.loads(row["extra"]) == {"bounds": "0.1,1,inf", "sum": "inf"}
