"""Writes process-creation events of Sysmon, as JSON lines in the form of Winlogbeat, with command lines that vary."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import orjson

from watchfloor.loadgen.harness.loads import LogFile

from .programs import PROGRAMS, USERS, WORDS

SOURCE = "windows.sysmon"
_FIRST = datetime(2026, 3, 2, tzinfo=UTC)
_DAYS = 7
_HOSTS = 400
_SLOT = re.compile(r"\{(\w+)\}")
_WRITTEN_AT_ONCE = 10_000


def write_process_events(path: Path, events: int, seed: int) -> LogFile:
    """Writes events that are spread evenly over a week, and returns the file."""
    drawn = random.Random(seed)
    fillers = _make_fillers(drawn)
    weights = list(accumulate(program.weight for program in PROGRAMS))
    step = timedelta(days=_DAYS) / events
    lines: list[bytes] = []
    with path.open("wb") as out:
        for number in range(events):
            (program,) = drawn.choices(PROGRAMS, cum_weights=weights)
            form = drawn.choice(program.lines)
            rest = _SLOT.sub(lambda slot: fillers[slot[1]](), form)
            parent = drawn.choice(program.parents)
            host, user = f"ws{drawn.randrange(_HOSTS)}.corp.example", drawn.choice(USERS)
            is_service = parent.endswith("services.exe")
            data = {
                "ProcessId": f"{drawn.randrange(4, 65_000, 4)}",
                "Image": program.image,
                "OriginalFileName": program.original_name,
                "CommandLine": f'"{program.image}"{rest}',
                "CurrentDirectory": "C:\\Windows\\System32\\" if is_service else f"C:\\Users\\{user}\\",
                "User": "NT AUTHORITY\\SYSTEM" if is_service else f"CORP\\{user}",
                "IntegrityLevel": "System" if is_service else "Medium",
                "ParentProcessId": f"{drawn.randrange(4, 65_000, 4)}",
                "ParentImage": parent,
                "ParentCommandLine": f'"{parent}" {fillers["word"]()} {fillers["number"]()}',
            }
            lines.append(_write_event(_FIRST + step * number, host, data))
            if len(lines) == _WRITTEN_AT_ONCE or number == events - 1:
                out.write(b"\n".join(lines) + b"\n")
                lines.clear()
    return LogFile(path, SOURCE, events, path.stat().st_size)


def _write_event(at: datetime, host: str, data: dict[str, str]) -> bytes:
    channel = {"channel": "Microsoft-Windows-Sysmon/Operational", "provider_name": "Microsoft-Windows-Sysmon"}
    log = {**channel, "computer_name": host, "event_id": 1, "event_data": data}
    return orjson.dumps({"@timestamp": at.isoformat(), "winlog": log})


def _make_fillers(drawn: random.Random) -> dict[str, Callable[[], str]]:
    """Returns what draws the text of each slot of a command line."""
    return {
        "id": lambda: f"{drawn.getrandbits(48):012x}",
        "number": lambda: str(drawn.randrange(10_000)),
        "user": lambda: drawn.choice(USERS),
        "word": lambda: drawn.choice(WORDS),
        "host": lambda: f"srv{drawn.randrange(200)}",
        "code": lambda: base64.b64encode(f"Get-{drawn.choice(WORDS)} {drawn.random()}".encode("utf-16-le")).decode(),
    }
