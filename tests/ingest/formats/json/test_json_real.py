"""Real JSON lines of services are told by their keys, and their values are what a second reader finds.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from parsing_support import log_lines, parse_file, shared_log

LOGS = {
    "aws-bf.log": ("aws.cloudtrail", {"eventName": "eventName", "userIdentity.userName": "userIdentity.userName"}),
    "caddy-logs.log": ("caddy.access", {"remote_ip": "request.remote_ip", "status": "status", "uri": "request.uri"}),
    "laurel-logs.log": ("laurel.audit", {"SYSCALL.exe": "SYSCALL.exe", "EXECVE.argc": "EXECVE.argc"}),
    "laurel-base64-exec.log": ("laurel.audit", {"SYSCALL.UID": "SYSCALL.UID", "SYSCALL.pid": "SYSCALL.pid"}),
    "mongodb-bf.log": ("mongodb.log", {"user": "attr.principalName", "id": "id", "msg": "msg"}),
}
TIMES = {"aws.cloudtrail": "eventTime", "caddy.access": "ts", "laurel.audit": "ID", "mongodb.log": "t.$date"}


def member(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def micros(value: float | str) -> int:
    text = str(value)
    seconds = str(datetime.fromisoformat(text).timestamp()) if "T" in text else text.partition(":")[0]
    return int((Decimal(seconds) * 1_000_000).quantize(Decimal(1), ROUND_HALF_UP))


@pytest.mark.parametrize("name", LOGS)
def test_real_lines(name: str) -> None:
    path = shared_log(f"services/{name}")
    feed, fields = LOGS[name]
    loaded = parse_file(path)
    assert loaded.sniffed is not None and loaded.sniffed.feed == feed and not loaded.rejected
    rows = loaded.rows()
    assert rows
    for (offset, line), row in zip(log_lines(path), rows, strict=True):
        raw = json.loads(line)
        assert row["(offset)"] == offset
        assert row[loaded.events[0][0].time_field] == micros(member(raw, TIMES[feed]))
        assert {field: row.get(field) for field in fields} == {f: member(raw, path) for f, path in fields.items()}
