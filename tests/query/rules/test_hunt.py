"""Rules over stored events: ``sigma run`` prints the events that match, and ``sigma hunt`` counts and reports them.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import run_command
from ingest_support import load, own

from watchfloor.query.rules import hunt
from watchfloor.schema.settings.settings import Settings

pytestmark = pytest.mark.stack

RULES = Path(__file__).parents[2] / "fixtures" / "sigma"
DAY = ("--since", "2031-05-01", "--until", "2031-05-02")
QUERIES = [
    ("a.tunnel.example", None),
    ("B.Tunnel.EXAMPLE", ["10.0.0.7"]),
    ("c.tunnel.example", ["127.0.0.1"]),
    ("tunnel.example.org", None),
    ("quiet.example", ["10.0.0.8"]),
    ("<b>xyzzy</b>\u202eplugh", None),
]
"""The names that are asked for, and the answers."""
TUNNEL, WORD = "Long Labels To An Example Domain", "The Word Tunnel Anywhere"
EXPECTED = {TUNNEL: [1, 0], WORD: [5, 3, 2, 1, 0]}
"""The places in ``QUERIES`` of what each rule matches, newest first."""


@pytest.fixture(scope="module")
def settings(store_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    path = tmp_path_factory.mktemp("hunt") / "dns.log"
    with path.open("w") as out:
        for number, (query, answers) in enumerate(QUERIES):
            event = {"ts": 1_935_360_000 + number, "uid": f"C{number}", "query": query, "answers": answers}
            addresses = {"id.orig_h": "10.0.0.1", "id.orig_p": 5353, "id.resp_h": "10.0.0.2", "id.resp_p": 53}
            out.write(json.dumps({"_path": "dns", **event, **addresses, "proto": "udp"}) + "\n")
    assert load(own(store_settings, "hunt"), path).events == len(QUERIES)
    yield store_settings


def test_run_prints_the_matches_of_each_rule(settings: Settings) -> None:
    status, out, said = run_command(settings, "sigma", "run", str(RULES), *DAY)
    assert status == 0, said
    rows = [json.loads(line) for line in out.splitlines()]
    found = {title: [row["event"]["query"] for row in rows if row["rule"] == title] for title in EXPECTED}
    assert found == {title: [QUERIES[place][0] for place in places] for title, places in EXPECTED.items()}
    first = next(row for row in rows if row["rule"] == TUNNEL)
    assert first["time"] == "2031-05-01T00:00:01.000000Z"
    assert (first["level"], first["tags"], first["source"]) == ("medium", ["attack.exfiltration"], "zeek.dns")
    assert first["event"]["answers"] == ["10.0.0.7"]
    assert first["event_id"].endswith("-zeek.dns")
    assert "7 matches of 2 of 2 rules among 6 events" in said


@pytest.mark.parametrize(("rows", "ranges", "moments"), [(2, 4, 2_000), (100, 0, 2), (100, 0, 2_000), (100, 9, 2_000)])
def test_matches_are_the_same_in_parts_of_any_size(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, rows: int, ranges: int, moments: int
) -> None:
    _, expected, _ = run_command(settings, "sigma", "run", str(RULES), *DAY)
    monkeypatch.setattr(hunt, "MAX_ROWS", rows)
    monkeypatch.setattr(hunt, "MAX_RANGES", ranges)
    monkeypatch.setattr(hunt, "MAX_MOMENTS", moments)
    status, out, said = run_command(settings, "sigma", "run", str(RULES), *DAY)
    assert status == 0, said
    assert sorted(out.splitlines()) == sorted(expected.splitlines())
    monkeypatch.setattr(hunt, "MAX_BYTES", 1)
    _, out, _ = run_command(settings, "sigma", "run", str(RULES), *DAY)
    assert sorted(out.splitlines()) == sorted(expected.splitlines())


def test_a_limit_tells_fewer_and_counts_all(settings: Settings) -> None:
    _, out, said = run_command(settings, "sigma", "run", str(RULES), *DAY, "--limit", "1")
    assert sorted(json.loads(line)["rule"] for line in out.splitlines()) == sorted(EXPECTED)
    assert "7 matches of 2 of 2 rules" in said


def test_hunt_counts_and_reports(settings: Settings, tmp_path: Path) -> None:
    report, matches = tmp_path / "hunt.html", tmp_path / "hunt.ndjson"
    files = ("--report", str(report), "--matches", str(matches))
    status, out, said = run_command(settings, "sigma", "hunt", str(RULES), *DAY, *files)
    assert status == 0, said
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["rule"], row["matches"], row["sources"]) for row in rows] == [
        (TUNNEL, 2, "zeek.dns 2"),
        (WORD, 5, "zeek.dns 5"),
    ]
    assert rows[1]["first"].startswith("2031-05-01T00:00:00") and rows[1]["last"].startswith("2031-05-01T00:00:05")
    assert "expected to take about" in said
    assert len(matches.read_text().splitlines()) == 7
    page = report.read_text("utf-8")
    assert page.count("tunnel.example") >= 4
    assert "<b>" not in page and "&lt;b&gt;xyzzy" in page and "\u202e" not in page


def test_what_would_cost_too_much_is_not_run(settings: Settings) -> None:
    status, out, said = run_command(settings, "sigma", "run", str(RULES), *DAY, "--max-seconds", "1e-9")
    assert (status, out) == (2, "")
    assert "that is more than --max-seconds 1e-09" in said
    status, out, said = run_command(settings, "sigma", "hunt", str(RULES), *DAY, "--cost")
    assert (status, out) == (0, "")
    assert "2 rules over" in said and "of that about" not in said
    status, out, said = run_command(settings, "sigma", "hunt", str(RULES), *DAY, "--cost", "--rule-seconds", "1e-12")
    assert (status, out) == (0, "")
    slow = [line for line in said.splitlines() if line.startswith("of that about")]
    assert [WORD in slow[0], TUNNEL in slow[1], len(slow)] == [True, True, 2]


def test_rules_that_cannot_be_run_are_told(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "broken.yml").write_text("title: broken\n")
    status, out, said = run_command(settings, "sigma", "run", str(tmp_path), str(RULES / "dns_tunnel.yml"), *DAY)
    assert (status, len(out.splitlines())) == (1, 2)
    assert "1 of 2 rules cannot be run" in said
    status, out, said = run_command(settings, "sigma", "run", str(tmp_path), *DAY)
    assert (status, out) == (2, "")
    assert "no rule can be run" in said


def test_plans_are_explained(settings: Settings) -> None:
    status, out, _ = run_command(settings, "sigma", "explain", str(RULES / "dns_tunnel.yml"), "--store", "--plan", *DAY)
    assert status == 0
    assert 'lower(query) like "*.tunnel.example"' in out
    assert "scheme" in out


BURST = """
title: Tunnel Names In A Burst
id: 5d0a4c7e-2f57-4f7a-9a51-6b0f3c9d4e33
level: high
correlation:
    type: value_count
    rules: [2b7a1d52-8f0e-4c4b-9a57-5f0f7a8d1c11, 7c9d4a10-31c6-4c0e-8a5f-0b8c2f1f2a22]
    group-by: id.orig_h
    timespan: 4s
    condition: {gte: 3, field: query}
"""


def test_correlations_are_run_checked_and_explained(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "burst.yml").write_text(BURST)
    files = (str(tmp_path), str(RULES))
    status, out, said = run_command(settings, "sigma", "run", *files, *DAY)
    assert status == 0, said
    (row,) = [json.loads(line) for line in out.splitlines()]  # its rules are not told by themselves
    assert (row["rule"], row["time"], row["source"]) == (
        "Tunnel Names In A Burst", "2031-05-01T00:00:02.000000Z", "zeek.dns"
    )  # fmt: skip
    assert row["event"]["group"] == {"id.orig_h": "10.0.0.1"}
    assert (row["event"]["count"], row["event"]["values"]) == (7, 5)
    assert row["event"]["last"] == "2031-05-01T00:00:05.000000Z"
    status, out, _ = run_command(settings, "sigma", "hunt", *files, *DAY, "--report", str(tmp_path / "hunt.html"))
    assert [(row["rule"], row["matches"]) for row in map(json.loads, out.splitlines())] == [(row["rule"], 1)]
    assert "10.0.0.1" in (tmp_path / "hunt.html").read_text("utf-8")
    status, out, _ = run_command(settings, "sigma", "check", *files, "--format", "ndjson")
    checked = {row["title"]: row for row in map(json.loads, out.splitlines())}
    assert (status, checked["Tunnel Names In A Burst"]["converted"]) == (0, True)
    assert "zeek.dns" in checked["Tunnel Names In A Burst"]["sources"]
    status, out, _ = run_command(settings, "sigma", "explain", *files)
    assert "value_count by id.orig_h within 4 s: distinct values of query >= 3" in out
    assert f"rule 1: {TUNNEL}" in out and "its rules are not told by themselves" in out
    (tmp_path / "burst.yml").write_text(BURST.replace("2b7a1d52", "00000000"))
    status, out, said = run_command(settings, "sigma", "check", *files, "--failed", "--format", "ndjson")
    assert (status, "no rule has the name or the ID 00000000" in json.loads(out)["reason"]) == (1, True)
