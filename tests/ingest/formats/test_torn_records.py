"""Access log records that were torn or spliced are rejected or read as they are, and no event mixes two of them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from parser_fixtures import parse

WHEN = re.compile(r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]")
CLIENTS = ["192.0.2.1", "10.200.3.44", "2001:db8::17", "gate7.lab.example", "localhost"]


@dataclass(frozen=True)
class Record:
    """A record of a common log, or with ``agent`` of a combined one; ``site`` and ``behind`` are of other forms."""

    client: str
    user: str
    second: int
    path: str
    status: int
    agent: str = ""
    site: str = ""
    behind: str = ""

    @property
    def line(self) -> str:
        ending = f' "-" "{self.agent}"' if self.agent else ""
        when = f"[05/Mar/2024:08:00:{self.second:02} +0000]"
        head = f"{self.site}{self.client} - {self.user}"
        return f'{head} {when} "GET {self.path} HTTP/1.1" {self.status} 5{ending}{self.behind}'

    @property
    def values(self) -> dict[str, Any]:
        ts = datetime(2024, 3, 5, 8, 0, self.second, tzinfo=UTC)
        path, agent = (re.sub(r'\\(["\\])', r"\1", text) for text in (self.path, self.agent))
        found = {"client": self.client, "user": self.user, "ts": int(ts.timestamp()) * 1_000_000, "path": path}
        return {
            name: value
            for name, value in (found | {"status": self.status, "user_agent": agent}).items()
            if value not in ("", "-")
        }


def records(agents: list[str], site: str = "", behind: str = "") -> st.SearchStrategy[Record]:
    return st.builds(
        Record,
        client=st.sampled_from(CLIENTS),
        user=st.sampled_from(["-", "maria", "ann lee", "corp\\\\eva", "eva@lab.example"]),
        second=st.integers(0, 59),
        path=st.sampled_from(["/", "/a b", '/say\\"hi\\"', "/[1]", "/192.0.2.9", "/a\\\\"]),
        status=st.sampled_from([200, 404]),
        agent=st.sampled_from(agents),
        site=st.just(site),
        behind=st.just(behind),
    )


PLAIN = records(["", "-", "curl/8.0", 'agent \\"7\\" (X11; [en])'])
SITE = records(["curl/8.0", "Mozilla/5.0 (X11)"], site="www.shop.example:443 ")
TIMED = records(["curl/8.0", "Mozilla/5.0 (X11)"], behind=' "192.0.2.99" 0.125')


TORN_TIMED = Record("192.0.2.1", "-", 1, "/", 200, "curl/8.0", behind=' "192.0.2.99" 0.125')


def is_client(text: str) -> bool:
    """Returns True if a text is an address, or a name whose last label is no number."""
    try:
        return bool(ip_address(text))
    except ValueError:
        return bool(re.fullmatch(r"[a-z0-9.-]*", text)) and not text.rpartition(".")[2].isdigit()


def read(feed: str, line: str) -> dict[str, Any] | None:
    """Returns the event of one line; None if it is rejected."""
    loaded = parse(feed, line.encode() + b"\n")
    assert loaded.lines == 1
    rows = loaded.rows()
    return rows[0] if rows else None


def check_torn(feed: str, torn: Record, whole: Record, place: int) -> None:
    """Checks what becomes of a record that broke off at ``place``, with a whole one behind it."""
    place = min(place, len(torn.line))
    row = read(feed, torn.line[:place] + whole.line)
    if place == 0:
        assert row is not None and whole.values.items() <= row.items()
    elif row is not None:
        # Two pieces of names can be a name; nothing else of the torn record may be in an event.
        beginning = torn.line[:place]
        site = beginning + whole.site if whole.site else ""
        client = whole.client if site else beginning + whole.client
        assert " " not in beginning and is_client(client), row
        assert {**whole.values, "client": client}.items() <= row.items()


@given(PLAIN, PLAIN, st.integers(0, 120))
@settings(max_examples=600)
@example(Record("192.0.2.1", "-", 1, "/", 200), Record("10.200.3.44", "-", 2, "/", 200), 14)
@example(Record("192.0.2.1", "maria", 1, "/", 200), Record("gate7.lab.example", "ann lee", 2, "/", 200), 14)
def test_a_torn_record_before_a_whole_one_leaves_nothing_in_an_event(torn: Record, whole: Record, place: int) -> None:
    check_torn("web.access", torn, whole, place)


@given(SITE, SITE, st.integers(0, 150))
@settings(max_examples=300)
def test_so_it_is_with_a_site_before_the_client(torn: Record, whole: Record, place: int) -> None:
    check_torn("web.vhost", torn, whole, place)


@given(TIMED, TIMED, st.integers(0, 150))
@settings(max_examples=300)
@example(replace(TORN_TIMED, client="2001:db8::17"), replace(TORN_TIMED, second=2), 11)
def test_so_it_is_with_fields_behind_the_user_agent(torn: Record, whole: Record, place: int) -> None:
    check_torn("web.timed", torn, whole, place)


def scan(line: str) -> dict[str, Any] | None:
    """Returns client, user and time of a line that is one whole record, letter by letter; None for others."""
    head, bracket, rest = line.partition(" [")
    words = head.split(" ", 2)
    if not bracket or len(words) != 3 or not re.match(r"\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] \"", rest):
        return None
    pieces, inside, place = [""], True, 29
    while place < len(rest):
        if rest[place] == "\\" and inside:
            pieces[-1] += rest[place : place + 2]
            place += 1
        elif rest[place] == '"':
            inside = not inside
            pieces.append("")
        else:
            pieces[-1] += rest[place]
        place += 1
    is_whole = len(pieces) in (2, 6) and re.fullmatch(r" \d{3} (?:\d+|-) ?", pieces[1])
    if not is_whole or (len(pieces) == 6 and pieces[3] + pieces[5] != " "):
        return None
    return {"client": words[0], "user": words[2]}


@given(PLAIN, PLAIN, st.integers(0, 120), st.integers(0, 120))
@settings(max_examples=600)
def test_two_records_spliced_anywhere_are_an_event_only_if_they_look_like_one_whole_record(
    first: Record, second: Record, end: int, begin: int
) -> None:
    line = first.line[:end] + second.line[begin:]
    if not line.strip():
        return
    row = read("web.access", line)
    if row is None:
        return
    found = scan(line)
    if found is None:  # of servers that did not escape quotes
        assert len(WHEN.findall(line)) == 1
        head = line.partition(" [")[0].split(" ", 2)
        found = {"client": head[0], "user": head[2]}
    assert is_client(row["client"]) and row["client"] == found["client"] and row.get("user", "-") == found["user"]
    assert not re.search(r'[\[\]"]| - ', row.get("user", ""))


WHOLE = '192.0.2.1 - - [05/Mar/2024:08:00:01 +0000] "GET / HTTP/1.1" 200 5'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{WHOLE}\r{WHOLE}", "carriage returns \\(CR\\) alone"),
        (f"www.shop.example:443 {WHOLE}", "web.vhost"),
        (WHOLE.replace("- - [", "- a[b ["), "its user has a bracket or a quote"),
        (WHOLE.replace("- - [", '- a"b ['), "its user has a bracket or a quote"),
        (WHOLE.replace("- - [", "- us10.0.0.1 - - ["), "field user: .* the beginning of another record"),
        (WHOLE.replace(" - - [", " 10.0.0.1 - - ["), "field ident: '10.0.0.1' is no name"),
        (WHOLE.replace("192.0.2.1", "192.0.2.1192.0.2.1"), "field client: .* neither an address nor a host name"),
        (WHOLE[:60] + WHOLE, "it has two times; the record seems to be torn"),
        (WHOLE + WHOLE, "it has two times; the record seems to be torn"),
    ],
)
def test_the_reason_says_what_is_wrong(line: str, reason: str) -> None:
    ((_, told),) = parse("web.access", line.encode()).faults()
    assert re.search(reason, told), told


@pytest.mark.parametrize(
    "client", ["192.0.2.1", "::ffff:192.0.2.1", "fe80::1%eth0", "a_b.lab.example", "unix:", "-", "x1", "host.2x"]
)
def test_clients_of_all_forms_are_taken(client: str) -> None:
    (row,) = parse("web.access", WHOLE.replace("192.0.2.1", client).encode()).rows()
    assert row["client"] == client


@pytest.mark.parametrize("client", ["\0" + "2001:db8::17", "2001:db8::\0", "a:\0b"])
def test_a_zero_byte_in_a_client_makes_a_line_unfit(client: str) -> None:
    loaded = parse("web.access", WHOLE.replace("192.0.2.1", client).encode())
    assert loaded.count == 0 and len(loaded.faults()) == 1
