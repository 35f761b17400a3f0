"""A new text format is its folder and nothing else: shown on a copy of the rooms, to which one is added.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("schema", "store", "ingest", "planner", "query", "api", "loadgen")

# Lines such as ``@2024-03-05T08:00:00Z alice``.
FORMAT = '''
"""The format ``at_lines``: a time after an at sign, and who."""

import pyarrow as pa

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.convert import text_column
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.scalars import time_parser
from watchfloor.ingest.parsing.format import Match, describe_feed
from watchfloor.ingest.parsing.parsed import parse_lines
from watchfloor.ingest.parsing.time_place import read_time_place


class AtLinesParser:
    ordered = False

    def __init__(self, source):
        self._source = source

    def parse(self, chunk):
        return parse_lines(chunk, self._read_rows)

    def _read_rows(self, rows, parsed):
        texts = [rows.line_at(row).decode().removeprefix("@").split(" ", 1) for row in range(len(rows))]
        leftovers, columns = Leftovers(self._source), {}
        leftovers.reasons.update({row: "not a time and a name" for row, cells in enumerate(texts) if len(cells) != 2})
        for number, field in enumerate(self._source.fields):
            column = pa.array([cells[number] if len(cells) == 2 else None for cells in texts], pa.string())
            columns[field.name] = text_column(field, column, self._source.time_format, leftovers.reasons)
        parsed.add(self._source, *event_batch(self._source, columns, rows, leftovers))


class AtLinesTimeFinder:
    def __init__(self, source):
        self._parse = time_parser(source.time_format)

    def find_time(self, line):
        return read_time_place(line, 1, line.find(b" "), self._parse)


class AtLinesFormat:
    name = "at_lines"
    family = ""
    title = "a log of at lines"

    def match(self, sample, sources):
        fits = sample.lines[0].startswith(b"@") and "lab.at" in sources
        return Match.SIGNATURE if fits else Match.NONE

    def describe(self, sample, feed, sources):
        return describe_feed(feed or "lab.at", sources)

    def open_parser(self, feed, header, resolve, source):
        return AtLinesParser(source)

    def open_time_finder(self, header, source):
        return AtLinesTimeFinder(source)


FORMAT = AtLinesFormat()
'''
DEFINITION = {
    "name": "lab.at",
    "parser": {"format": "at_lines"},
    "timestamp": {"field": "ts", "format": "iso8601"},
    "fields": [{"name": "ts", "type": "time"}, {"name": "who", "type": "string"}],
}
LOG = "@2024-03-05T08:00:00Z alice\nnothing\n@2024-03-05T08:00:01Z bob\n"
PROGRAM = """
import json, sys
from pathlib import Path
from watchfloor.api.cli.main import main
from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.registry import open_parser, open_time_finder
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import parse_definition

definition, log = sys.argv[1:]
assert main(["sources", "check", definition]) == 0
source = parse_definition(Path(definition).read_text())
sniffed = sniff_file(log, None, {source.name: source})
assert sniffed == sniff_file(log, "lab.at", {source.name: source})
parser = open_parser(sniffed.feed, sniffed.header, lambda name, derive: source)
(parsed,) = map(parser.parse, read_chunks(log))
finder, form = open_time_finder(sniffed)
place = finder.find_time(b"@2024-03-05T08:00:00Z alice")
print(json.dumps({
    "feed": sniffed.feed,
    "who": [who for _, batch in parsed.events for who in batch.column("who").to_pylist()],
    "rejected": [[r.offset, r.reason] for r in parsed.rejected],
    "place": [place.start, place.end, form],
}))
"""


def test_a_text_format_is_its_folder(tmp_path: Path) -> None:
    package = tmp_path / "root" / "watchfloor"
    for room in ROOMS:
        shutil.copytree(ROOT / room, package / room, ignore=shutil.ignore_patterns("java", "__pycache__"))
    folder = package / "ingest" / "formats" / "at_lines"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "format.py").write_text(FORMAT)
    definition, log = tmp_path / "at.json", tmp_path / "some.log"
    definition.write_text(json.dumps(DEFINITION))
    log.write_text(LOG)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, definition, log],
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "feed": "lab.at",
        "who": ["alice", "bob"],
        "rejected": [[28, "not a time and a name"]],
        "place": [1, 21, "iso8601"],
    }
