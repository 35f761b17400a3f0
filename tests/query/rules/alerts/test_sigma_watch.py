"""``sigma watch`` tells each match of events that arrive once, whatever ends it, and posts it to a webhook.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from command_line import run_command
from ingest_support import load, own
from webhook_receiver import receive_webhooks

from watchfloor.schema.settings.settings import Settings

pytestmark = pytest.mark.stack

RULES = """
title: A Watched Name
id: 0a8f7c52-55a1-4e1b-8a5e-3f60f7a8d101
name: watched
level: high
tags: [attack.t1071.004]
logsource: {product: zeek, service: dns}
detection:
    sel: {query|endswith: .watched.example}
    condition: sel
---
title: Many Watched Names
id: 0a8f7c52-55a1-4e1b-8a5e-3f60f7a8d102
level: critical
correlation:
    type: event_count
    rules: [watched]
    group-by: [source.ip]
    timespan: 10m
    condition: {gte: 3}
    generate: true
"""
LOOK_SECONDS = 1.0
"""The pause between two looks, here."""
COMMAND = f"""
from watchfloor.api.cli.sigma import watching
from watchfloor.api.cli.main import main
watching.POLL_SECONDS = {LOOK_SECONDS}
raise SystemExit(main())
"""
SINGLE, MANY = "A Watched Name", "Many Watched Names"


def write_log(path: Path, start: int, ages: list[float], client: str) -> Path:
    """Writes lookups of watched names, of which each has a number, and of as many others."""
    with path.open("w") as out:
        for place, age in enumerate(ages):
            for name in ("watched", "quiet"):
                event = {
                    "ts": round(time.time() - age, 3),
                    "uid": f"C{start + place}",
                    "query": f"n{start + place}.{name}.example",
                }
                addresses = {"id.orig_h": client, "id.orig_p": 5353, "id.resp_h": "10.9.9.9", "id.resp_p": 53}
                out.write(json.dumps({"_path": "dns", **event, **addresses, "proto": "udp"}) + "\n")
    return path


@contextmanager
def watching(settings: Settings, folder: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a watch in a process of its own, which is killed at the end if it still runs."""
    said = (folder / "said.txt").open("ab")
    command = [sys.executable, "-c", COMMAND, "--home", str(settings.home), "sigma", "watch"]
    process = subprocess.Popen([*command, str(folder / "rules.yml"), *options], stderr=said, stdout=said)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        said.close()


def wait_until(is_so: Callable[[], bool], folder: Path, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, (folder / "said.txt").read_text()
        time.sleep(0.5)


def read_alerts(settings: Settings) -> list[dict[str, Any]]:
    where = f'rule in ("{SINGLE}", "{MANY}")'
    status, out, _ = run_command(settings, "query", "sigma.alerts", "--where", where, "--format", "ndjson")
    return [json.loads(line) for line in out.splitlines()] if status == 0 else []


def names_of(alerts: list[dict[str, Any]]) -> Counter[str]:
    """Counts the numbers of the lookups that alerts are about, and the groups of those about several."""
    counts: Counter[str] = Counter()
    for alert in alerts:
        event = json.loads(alert["event"]) if isinstance(alert["event"], str) else alert["event"]
        counts[event["query"].split(".")[0] if "query" in event else event["group"]["source.ip"]] += 1
    return counts


def says(folder: Path, text: str, times: int = 1) -> Callable[[], bool]:
    return lambda: (folder / "said.txt").read_text().count(text) >= times


def test_each_match_is_told_once_whatever_ends_the_watch(store_settings: Settings, tmp_path: Path) -> None:
    settings, queue = store_settings, own(store_settings, "watched")
    (tmp_path / "rules.yml").write_text(RULES)
    load(queue, write_log(tmp_path / "before.log", 100, [200_000.0, 30.0], "10.77.0.1"))
    with receive_webhooks(503, 302, 500) as receiver:
        options = ("--webhook", receiver.address)
        with watching(settings, tmp_path, *options) as process:
            wait_until(says(tmp_path, "watching 1 source with 2 rules"), tmp_path)
            load(queue, write_log(tmp_path / "first.log", 0, [5.0, 5.0, 86_400.0], "10.77.0.2"))
            wait_until(lambda: {"n0", "n1", "n2"} <= set(names_of(read_alerts(settings))), tmp_path)
            wait_until(lambda: {"n0", "n1", "n2"} <= set(names_of(receiver.taken)), tmp_path)
            # Killed between the record of alerts and their way into the store.
            told = (tmp_path / "said.txt").read_text().count("new alert")
            load(queue, write_log(tmp_path / "second.log", 10, [4.0, 4.0, 4.0], "10.77.0.3"))
            wait_until(says(tmp_path, "new alert", told + 1), tmp_path)
            process.send_signal(signal.SIGKILL)
            process.wait()
        load(queue, write_log(tmp_path / "third.log", 20, [3.0, 172_800.0], "10.77.0.4"))
        with watching(settings, tmp_path, *options) as process:
            wait_until(lambda: {"n12", "n20", "n21", "10.77.0.3"} <= set(names_of(read_alerts(settings))), tmp_path)
            wait_until(lambda: {"n12", "n20", "n21", "10.77.0.3"} <= set(names_of(receiver.taken)), tmp_path)
            time.sleep(3 * LOOK_SECONDS)  # another look
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, (tmp_path / "said.txt").read_text()
    alerts = read_alerts(settings)
    # The minute of an event from before the watch is looked at when another event comes in it.
    found = {name: count for name, count in names_of(alerts).items() if name not in ("n100", "n101", "10.77.0.1")}
    assert found == dict.fromkeys(("n0", "n1", "n2", "n10", "n11", "n12", "n20", "n21", "10.77.0.3"), 1)
    assert max(names_of(alerts).values()) == 1 and names_of(alerts)["n100"] == 0
    assert names_of(alerts) == names_of(list({alert["alert_id"]: alert for alert in receiver.taken}.values()))
    (one,) = [alert for alert in alerts if "n2.watched" in alert["event"]]
    assert (one["rule"], one["level"], one["tags"]) == (SINGLE, "high", ["attack.t1071.004"])
    assert (one["source"], one["source_ip"], one["destination_ip"]) == ("zeek.dns", "10.77.0.2", "10.9.9.9")
    assert json.loads(one["event"]) == {"query": "n2.watched.example"}
    assert (
        time.time() - 86_400 - 600
        < read_seconds(one["event_time"])
        < time.time() - 86_400
        < read_seconds(one["detected"])
    )
    (many,) = [alert for alert in alerts if alert["rule"] == MANY and alert["source_ip"] == "10.77.0.3"]
    assert (many["count"], many["level"]) == (3, "critical")


def read_seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_a_second_watch_of_a_name_and_a_bad_webhook_are_refused(store_settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(RULES)
    rules = str(tmp_path / "rules.yml")
    for address in ("ftp://host/", "file:///etc/passwd", "http://", "https://ho st/", "host", "http://h:99999/"):
        status, _, said = run_command(store_settings, "sigma", "watch", rules, "--webhook", address)
        assert (status, "--webhook must be an address" in said) == (2, True)
    with watching(store_settings, tmp_path, "--name", "busy"):
        wait_until(says(tmp_path, "watching"), tmp_path)
        status, _, said = run_command(store_settings, "sigma", "watch", rules, "--name", "busy")
        assert (status, "another watch named busy runs here" in said) == (2, True)
