"""Real logs lose no line in a parser, and every value is what a second reader finds.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from parsing_support import DATA, log_lines, parse_file, shared_log, unzip_log


def logs(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(DATA)) for path in DATA.glob(pattern)) or [pattern]


ZEEK_LOGS = [
    *logs("zeek/brobeat/*.log"),
    *logs("zeek/wrccdc/*.log.gz"),
    *logs("zeek/zat/data/*.log"),
    *logs("zeek/zat/data/json/*.log"),
    *logs("zeek/apt29/apt29/day*/zeek/combined_zeek.log"),
    *logs("zeek/apt29/apt29/day*/zeek/individual_zeek_logs/*.log"),
]
# Zeek JSON has no header, and these logs' lines no time.
TIMELESS = "loaded_scripts"


@pytest.mark.parametrize("name", [*ZEEK_LOGS, *logs("suricata/*/*.json"), "web_access/elastic_apache_logs"])
def test_real_lines_are_events_or_rejected(name: str) -> None:
    path = shared_log(name)
    loaded = parse_file(path)
    lines = [(offset, line) for offset, line in log_lines(path) if not (line.startswith(b"#") and "zeek" in name)]
    assert loaded.lines == len(lines)
    rejected = {r.offset: r for r in loaded.rejected}
    offsets = [row for _, batch in loaded.events for row in batch.column("(offset)").to_pylist()]
    assert sorted([*offsets, *rejected]) == [offset for offset, _ in lines]
    for offset, line in lines:
        if offset in rejected:
            fault = rejected[offset]
            assert fault.raw == line
            known = (
                b'"@stream":"loaded_scripts"' in line or TIMELESS in name,
                b"+http://www.google.com/bot.html" in line,
            )
            assert any(known), fault.reason
    assert len(rejected) == (1 if name == "web_access/elastic_apache_logs" else len(rejected))


@pytest.mark.parametrize(("name", "lines"), [("nasa-50k.log.gz", 50_000), ("access3.log.zip", 206_860)])
def test_real_access_logs_are_events(name: str, lines: int, tmp_path: Path) -> None:
    path = unzip_log(f"web_access/{name}", tmp_path) if name.endswith(".zip") else shared_log(f"web_access/{name}")
    loaded = parse_file(path)
    assert (loaded.count, loaded.rejected) == (lines, [])


def micros(text: str) -> int:
    return int((Decimal(text) * 1_000_000).quantize(Decimal(1), ROUND_HALF_UP))


def zeek_value(kind: str, text: str) -> Any:
    if text == "-":
        return None
    container = re.fullmatch(r"(?:set|vector|table)\[(.*)\]", kind)
    if container:
        return [] if text == "(empty)" else [zeek_value(container[1], item) for item in text.split(",")]
    match kind:
        case "time":
            return micros(text)
        case "interval" | "double":
            return float(text)
        case "count" | "int" | "port":
            return int(text)
        case "bool":
            return {"T": True, "F": False}[text]
        case "addr":
            return str(ip_address(text))
    text = "" if text == "(empty)" else text
    return re.sub(
        r"(?:\\x[0-9a-f]{2})+|\\\\",
        lambda m: "\\" if m[0] == "\\\\" else bytes.fromhex(m[0].replace("\\x", "")).decode(errors="backslashreplace"),
        text,
    )


@pytest.mark.parametrize("log", ["conn", "dns", "http", "files", "notice", "smtp", "pe"])
def test_brobeat_field_by_field(log: str) -> None:
    path = shared_log(f"zeek/brobeat/{log}.log")
    with path.open(encoding="utf-8", newline="\n") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    names = next(row[1:] for row in rows if row[0] == "#fields")
    kinds = next(row[1:] for row in rows if row[0] == "#types")
    expected = []
    for row in rows:
        if not row[0].startswith("#"):
            values = {n: zeek_value(k, text) for n, k, text in zip(names, kinds, row, strict=True)}
            shown = {"(source)" if n == "source" else n: v for n, v in values.items() if v is not None}
            expected.append({"source": f"zeek.{log}", **shown})
    got = [{k: v for k, v in row.items() if k != "(offset)"} for row in parse_file(path).rows()]
    assert got == expected


ACCESS = re.compile(r'(\S+) (\S+) (.+) \[(.+?)\] "(.*)" (\d+) (\S+) "(.*)" "(.*)"')


def test_access3_field_by_field(tmp_path: Path) -> None:
    path = unzip_log("web_access/access3.log.zip", tmp_path)
    wanted = 40_000
    lines = path.read_bytes().split(b"\n")[:wanted]
    path.write_bytes(b"\n".join(lines))
    offset = 0
    for line, row in zip(lines, parse_file(path).rows(), strict=True):
        match = ACCESS.fullmatch(line.decode())
        assert match, line
        client, ident, user, when, request, status, size, referrer, agent = match.groups()
        moment = datetime.strptime(when, "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC)
        expected: dict[str, Any] = {"client": client, "ident": ident, "user": user, "status": int(status)}
        expected |= {"source": "web.access", "ts": int(moment.timestamp()) * 1_000_000, "(offset)": offset}
        expected |= {"bytes": "-" if size == "-" else int(size), "referrer": referrer, "user_agent": agent}
        parts = request.split(" ")
        if len(parts) >= 3 and parts[-1].startswith("HTTP/"):
            expected |= {"method": parts[0], "path": " ".join(parts[1:-1]), "protocol": parts[-1]}
        else:
            expected["request"] = request
        plain = {
            name: value.replace('\\"', '"').replace("\\\\", "\\") if isinstance(value, str) else value
            for name, value in expected.items()
            if value != "-" or name == "request"
        }
        assert row == plain
        offset += len(line) + 1


def test_suricata_value_by_value() -> None:
    path = shared_log("suricata/stratosphere/test6-malicious.suricata.json")
    for (_, line), row in zip(log_lines(path), parse_file(path).rows(), strict=True):
        raw = json.loads(line)
        assert row["source"] == f"suricata.{raw['event_type']}"
        moment = datetime.strptime(raw["timestamp"], "%Y-%m-%dT%H:%M:%S.%f%z")
        assert row["timestamp"] == round(moment.timestamp() * 1_000_000)
        assert [row.get(k) for k in ("flow_id", "src_ip", "dest_port")] == [
            raw["flow_id"],
            str(ip_address(raw["src_ip"])),
            raw.get("dest_port"),
        ]
        if "alert" in raw:
            assert row["alert.signature"] == raw["alert"]["signature"]
        if "dns" in raw:
            assert row["dns.rrname"] == raw["dns"]["rrname"]
