"""Takes the header off syslog lines: priority, time, host, program and process ID; the message is what is left.

RFC 5424 is followed to the letter. Of RFC 3164 all forms are taken that are found: without a priority, with the time in
ISO 8601 (rsyslog's and systemd's) or with a year, and without a program. Cisco's devices write a host or none, and the
identity of a message (``%ASA-6-302013``) as the program.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from watchfloor.ingest.mapping.patterns import NamedPatterns

_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_BSD = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
_BSD_YEAR = r"[A-Z][a-z]{2} [ \d]\d \d{4} \d\d:\d\d:\d\d"
_CISCO = (
    rf"^(?:<(?P<priority>\d{{1,3}})>)?(?:\d+: )?[*.]?(?P<time>{_BSD}|{_BSD_YEAR}|{_ISO})(?:\.\d+)?(?: [A-Z]{{3,4}}:)?"
)
_OLD = rf"^(?:<(?P<priority>\d{{1,3}})>)?(?P<time>{_BSD}|{_BSD_YEAR}|{_ISO}) (?P<host>[^\s\[\]]+|\[\S+) "
_FORMS = {
    "5424": rf"^<(?P<priority>\d{{1,3}})>1 (?P<time>{_ISO}|-) (?P<host>\S+) (?P<program>\S+) (?P<pid>\S+) "
    r"(?P<msgid>\S+) (?P<structured_data>-|(?:\[(?:[^\]\\]|\\.)*\])+)(?: (?:\x{FEFF})?(?P<message>(?s:.*)))?$",
    "Cisco": rf"{_CISCO}(?: (?P<host>[^\s:%][^\s:]*))?(?: [^\s:%]+:)?(?: ?:)? (?P<program>%[A-Z][A-Z0-9_]*-[A-Z0-9_-]+)"
    r": ?(?P<message>(?s:.*))$",
    "3164": rf"{_OLD}(?P<program>[^\s:\[\]]*[A-Za-z_][^\s:\[\]]*)(?:\[(?P<pid>[^\]]*)\])?: ?(?P<message>(?s:.*))$",
    "3164 without a program": rf"{_OLD}(?P<message>(?s:.*))$",
}
_PATTERNS = NamedPatterns(_FORMS)
_FACILITIES = (
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp",
    "audit", "alert", "clock", *(f"local{number}" for number in range(8)),
)  # fmt: skip
_SEVERITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
_MOST_PRIORITY = 191


def split_headers(text: pa.StringArray) -> dict[str, pa.StringArray]:
    """Returns the parts of lines as raw columns; ``time`` is null where a line is not syslog."""
    columns = _PATTERNS.match(text)
    for name in ("priority", "time", "host", "program", "pid", "msgid", "structured_data", "message"):
        columns.setdefault(name, pa.nulls(len(text), pa.string()))
    return columns | _name_priorities(columns["priority"])


def _name_priorities(priority: pa.StringArray) -> dict[str, pa.StringArray]:
    """Returns the names of facility and severity, and of the priorities those that name neither."""
    coded = priority.dictionary_encode()
    names: dict[str, list[str | None]] = {"priority": [], "facility": [], "severity": []}
    for text in coded.dictionary.to_pylist():
        number = int(text) if text else _MOST_PRIORITY + 1
        is_known = number <= _MOST_PRIORITY
        names["priority"].append(None if is_known else text)
        names["facility"].append(_FACILITIES[number >> 3] if is_known else None)
        names["severity"].append(_SEVERITIES[number & 7] if is_known else None)
    return {name: pa.array(values, pa.string()).take(coded.indices) for name, values in names.items()}


def split_lines(lines: Iterable[bytes]) -> dict[str, pa.StringArray]:
    """Returns the parts of a few lines, for telling files apart."""
    return split_headers(pa.array([line.decode(errors="replace") for line in lines], pa.string()))
