"""Rules over stored events: ``sigma run`` prints the events that match, and ``sigma hunt`` counts and reports them.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import run_command
from loaded import load

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
    assert load(store_settings, path).events == len(QUERIES)
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
    assert "2 rules over" in said


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
