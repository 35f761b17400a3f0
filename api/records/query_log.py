"""The query log: a JSON line for each query, count or look-up that the service was asked, in a file of bounded size.

A line tells who asked what, how it was answered, how long the first row and all rows took, and how many there were. It
has no secrets: neither tokens nor values of events, but the filters that were asked with.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from watchfloor.schema.files.paths import describe_error, show_path
from watchfloor.schema.text import shorten
from watchfloor.schema.times import format_micros
from watchfloor.store.runtime.private_files import make_private_folder, open_private
from watchfloor.store.stack.home.home_folder import QUERY_LOG

MOST_BYTES = 64 << 20
"""Bytes of the file at which it is renamed to ``queries.jsonl.1``, in the place of the one before."""
MOST_ASKED = 4096
"""The most characters of a request that a line has."""
_MEMBERS = ("status", "rows", "events", "batches", "plan_seconds", "first_seconds", "seconds", "from")
log = logging.getLogger(__name__)


class QueryLog:
    """Writes the lines of one service. Any thread may call it."""

    def __init__(self, home: Path | None) -> None:
        """``home`` is the stack's folder; None writes nothing."""
        self._path = None if home is None else home / QUERY_LOG
        self._lock = threading.Lock()
        self._is_failing = False

    def write(self, token: str, route: str, asked: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
        """Writes a line about a request of a token. ``summary`` has its status, and what is known of its answer.

        An error is logged by the service, once, and keeps no request from its answer.
        """
        if self._path is None:
            return
        line = {
            "at": format_micros(time.time_ns() // 1000),
            "token": token,
            "route": route,
            "asked": _shorten(asked),
            **{name: summary[name] for name in _MEMBERS if summary.get(name) is not None},
            **_describe_plan(summary),
        }
        with self._lock:
            try:
                self._append(self._path, orjson.dumps(line) + b"\n")
                self._is_failing = False
            except OSError as error:
                if not self._is_failing:
                    log.error("the query log %s cannot be written: %s", show_path(self._path), describe_error(error))
                self._is_failing = True

    def _append(self, path: Path, line: bytes) -> None:
        try:
            file = open_private(path, "ab")
        except FileNotFoundError:
            make_private_folder(path.parent)
            file = open_private(path, "ab")
        with file:
            if file.tell() and file.tell() + len(line) > MOST_BYTES:
                path.replace(path.with_name(path.name + ".1"))
                with open_private(path, "ab") as next_file:
                    next_file.write(line)
            else:
                file.write(line)


def _shorten(asked: Mapping[str, Any]) -> Any:
    """Returns what was asked, as text that is cut if it is long."""
    text = orjson.dumps(asked).decode()
    return dict(asked) if len(text) <= MOST_ASKED else shorten(text, MOST_ASKED)


def _describe_plan(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the scheme and the rule of a plan, or of each source's plan, and the kind of a problem."""
    described: dict[str, Any] = {}
    if summary.get("plan"):
        described["plan"] = _outline(summary["plan"])
    if summary.get("sources"):
        described["plan"] = {name: _outline(plan) for name, plan in summary["sources"].items()}
    if summary.get("problem"):
        described["problem"] = summary["problem"]["type"].rpartition(":")[2]
    return described


def _outline(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plan[name] for name in ("scheme", "rule") if name in plan}
