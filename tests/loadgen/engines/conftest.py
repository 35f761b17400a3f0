"""Fixtures of the tests in this folder."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from engine_events import COLUMNS, EVENTS, ODD, read_events

from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.loadgen.harness.loads import EventFile, write_events


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> EventFile:
    return write_events(tmp_path_factory.mktemp("engines") / "proxy.json", EVENTS, seed=3)


@pytest.fixture(scope="module")
def events(file: EventFile) -> pa.Table:
    return read_events(file.path)


@pytest.fixture(scope="module")
def odd_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events whose strings are odd, each some times, and partly missing; times a microsecond apart, not in order."""
    drawn = random.Random(4)
    path = tmp_path_factory.mktemp("odd") / "proxy.json"
    lines = []
    for i in drawn.sample(range(20 * len(ODD)), 20 * len(ODD)):
        event = dict.fromkeys(COLUMNS) | {"ts": f"2026-01-01T00:00:00.{i:06}Z", "domain": ODD[i % len(ODD)]}
        event |= {name: drawn.choice(ODD) for name in ("user", "path", "query", "referrer", "category")}
        # What is no string is never missing: ClickHouse's table holds no nulls.
        event |= dict.fromkeys(("src_port", "dest_port"), drawn.choice((0, 65_535)))
        event |= {name: drawn.choice((0, -1, 2**53 + 1)) for name in ("status", "bytes_in", "bytes_out")}
        event |= {"duration_ms": drawn.choice((0, 0.1, -1e300)), "cached": drawn.random() < 0.5}
        event |= {"src_ip": drawn.choice(("10.0.0.1", "2001:db8::1")), "dest_ip": "192.0.2.7"}
        if drawn.random() < 0.3:
            del event["user"]
        lines.append(json.dumps(event, ensure_ascii=drawn.random() < 0.5))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def odd_questions() -> list[EngineQuestion]:
    domains = [
        question
        for value in (*ODD, "none such")
        for question in (
            EngineQuestion("newest 3", QuestionKind.NEWEST, "domain", value, 3),
            EngineQuestion("all", QuestionKind.NEWEST, "domain", value),
            EngineQuestion("count", QuestionKind.COUNT, "domain", value),
        )
    ]
    return [
        *domains,
        EngineQuestion("all", QuestionKind.EVERYTHING, "user", "it's"),
        EngineQuestion("all", QuestionKind.NEWEST, "src_ip", "10.0.0.1"),
    ]
