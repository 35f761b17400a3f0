"""A sweep of an item reports before each source, so that its worker gives signs of life and can be stopped.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from typing import Any

import pytest

from watchfloor.schema.definition import builtin_definitions
from watchfloor.store.layout import GoneLines, SweepGuard
from watchfloor.store.layouts import item_writer
from watchfloor.store.layouts.item_writer import ItemWriter

NOTHING: Any = None


class RecordingLayout:
    """A layout and its encoders: notes the sweeps."""

    def __init__(self, steps: list[str]) -> None:
        self._steps = steps

    def make_encoder(self, *arguments: object) -> RecordingLayout:
        return self

    def sweep_earlier(self, store: object, gone: GoneLines, guard: SweepGuard) -> None:
        self._steps.append("sweep")


def test_a_sweep_reports_before_each_source(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(item_writer, "find_layout", lambda source: RecordingLayout(steps))
    sources = list(builtin_definitions().values())[:2]
    writer = ItemWriter(NOTHING, b"i" * 8, b"f" * 16)
    writer.sweep_earlier(NOTHING, GoneLines(), sources, SweepGuard(lambda: steps.append("report")))
    assert steps == ["report", "sweep"] * 2


def test_a_report_may_stop_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(item_writer, "find_layout", lambda source: RecordingLayout(steps))

    def stop() -> None:
        raise KeyboardInterrupt

    writer = ItemWriter(NOTHING, b"i" * 8, b"f" * 16)
    with pytest.raises(KeyboardInterrupt):
        writer.sweep_earlier(NOTHING, GoneLines(), list(builtin_definitions().values())[:1], SweepGuard(stop))
    assert steps == []
