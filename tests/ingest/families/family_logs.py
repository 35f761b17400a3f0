"""A log of each family of formats, under a source of the test's own: the sample of a source that ships, many times."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest_support import RUN

from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.source import Source

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sources"
TIMES = 20
MEMBERS = 3


@dataclass(frozen=True)
class WrittenLog:
    """A file, and the number of records in it, counted without any parser."""

    path: Path
    records: int


@dataclass(frozen=True)
class Family:
    """A family of formats: the source that ships, and a writer of logs of the source of a given definition."""

    model: str
    write: Callable[[Path, Source], WrittenLog]
    prefix: str = f"test{RUN}."
    parser: Mapping[str, Any] = field(default_factory=dict)

    def make_source(self, name: str, layout: str) -> Source:
        """Returns the shipped source under a name of its own; ``{own}`` in the parser's own members is that name."""
        definition = builtin_definitions()[self.model].definition
        own = f"{name}_{layout}{RUN}"
        parser = {**definition["parser"], **{key: [text.format(own=own)] for key, text in self.parser.items()}}
        return parse_definition(
            {**definition, "name": f"{self.prefix}{own}", "parser": parser, "layout": layout, "shards": 2}
        )


def _read_sample(name: str) -> list[str]:
    return (FIXTURES / name / "in.log").read_text("utf-8").splitlines()


def _repeat_sample(name: str, is_heading: Callable[[str], bool] = lambda line: False) -> Callable[..., WrittenLog]:
    """Returns a writer of a sample's lines, ``TIMES`` times; lines before its first record stand at the beginning."""

    def write(path: Path, source: Source) -> WrittenLog:
        lines = _read_sample(name)
        records = [line for line in lines if line.strip() and not is_heading(line)]
        heading = lines[: lines.index(records[0])]
        path.write_text("\n".join([*heading, *(records * TIMES), ""]), "utf-8")
        return WrittenLog(path, TIMES * len(records))

    return write


def _write_syslog(path: Path, source: Source) -> WrittenLog:
    (program,) = source.parser["programs"]
    messages = (
        "Accepted publickey for maria from 192.0.2.10 port 50122 ssh2: ED25519 SHA256:abc",
        "Failed password for invalid user admin from 2001:db8::17 port 40000 ssh2",
        "a message that no pattern fits",
    )
    lines = [f"2026-03-05T08:{n:02}:00Z gate {program}[{n}]: {text}" for n in range(60) for text in messages]
    lines += ["no header at all", f"2026-13-05T08:00:00Z gate {program}[7]: {messages[0]}"] * TIMES
    path.write_text("\n".join([*lines, ""]))
    return WrittenLog(path, len(lines))


def _write_wrapped(path: Path, source: Source) -> WrittenLog:
    """Writes one JSON object around all records; those that lack a time stay, torn lines cannot."""
    records = [json.loads(line) for line in _read_sample(source_model(source)) if line.endswith("}")]
    path.write_text(json.dumps({"Records": records * TIMES}, indent=1))
    return WrittenLog(path, TIMES * len(records))


def source_model(source: Source) -> str:
    return next(family.model for name, family in FAMILIES.items() if f".{name}_" in source.name)


def _write_xml(path: Path, source: Source) -> WrittenLog:
    (channel,) = source.parser["channels"]
    event = (
        '<Event xmlns="http://schemas.microsoft.com/win/2004/08/events/event"><System><Provider Name="Lab"/>'
        "<EventID>4624</EventID><Level>{level}</Level>{time}<Channel>{channel}</Channel>"
        "<Computer>ws7.corp.example</Computer></System><EventData>"
        '<Data Name="TargetUserName">maria {number}</Data><Data Name="IpAddress">192.0.2.{last}</Data>'
        "</EventData></Event>\n"
    )
    time = '<TimeCreated SystemTime="2026-03-05T08:00:{second:02}.{number:06}Z"/>'
    texts = [
        event.format(
            channel=channel,
            number=number,
            level="unknown" if number % 7 == 0 else 0,
            last=number % 250,
            time="" if number % 11 == 0 else time.format(second=number % 60, number=number),
        )
        for number in range(200)
    ]
    path.write_text("<Events>\n" + "".join(texts) + "</Events>\n")
    return WrittenLog(path, len(texts))


def _write_archive(path: Path, source: Source) -> WrittenLog:
    """Writes members that differ, because of files with the same content only one is loaded."""
    lines = _read_sample(source_model(source))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(1, MEMBERS + 1):
            archive.writestr(f"day{number}.log", "\n".join([*(lines * TIMES * number), ""]))
    return WrittenLog(path, TIMES * len(lines) * MEMBERS * (MEMBERS + 1) // 2)


FAMILIES: Mapping[str, Family] = {
    "delimited": Family("netflow.nfdump", _repeat_sample("netflow.nfdump", lambda line: line.startswith("ts,"))),
    "elff": Family("iis.access", _repeat_sample("iis.access", lambda line: line.startswith("#"))),
    "syslog": Family("syslog.sshd", _write_syslog, "syslog.", {"programs": "{own}"}),
    "pairs": Family("fortinet.fortigate", _repeat_sample("fortinet.fortigate")),
    "cef": Family("cef.events", _repeat_sample("cef.events")),
    "leef": Family("leef.events", _repeat_sample("leef.events")),
    "wrapped": Family("aws.cloudtrail", _write_wrapped),
    "xml": Family("windows.security", _write_xml, "windows.", {"channels": "{own}"}),
    "fallback": Family("text.messages", _repeat_sample("text.messages")),
    "archive": Family("squid.access", _write_archive),
}
