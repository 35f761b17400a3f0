"""The sources that a rule's log source (product, category, service) means; ``tables/log_sources.json`` is the table.

A row fits a log source that has all that the row names; of the fitting rows the one that names most is taken.
A source's name may be a pattern (``syslog.*``); ``{service}`` stands for the rule's service. A source with ``like`` is
made when its first events come, so that only a store can know its fields; elsewhere the named source stands for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from watchfloor.schema.source import Source

_PARTS = ("product", "category", "service")


@dataclass(frozen=True)
class LogSource:
    """The log source of a rule; an empty part was not named."""

    product: str = ""
    category: str = ""
    service: str = ""

    def describe(self) -> str:
        """Returns the log source for messages: ``product windows, category process_creation``."""
        return ", ".join(f"{part} {getattr(self, part)}" for part in _PARTS if getattr(self, part))


@dataclass(frozen=True)
class MeantSource:
    """A source that a log source means: only its events that satisfy ``where``.

    ``names`` are the fields that the source has for names of rules.
    """

    source: Source
    where: str | None = None
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)


def find_sources(log_source: LogSource, known: Mapping[str, Source]) -> list[MeantSource] | None:
    """Returns the known sources that a log source means; None if the table does not have the log source."""
    row = _find_row(log_source)
    if row is None:
        return None
    found: dict[str, MeantSource] = {}
    for entry in row["sources"]:
        pattern = entry["name"].format(service=log_source.service)
        for name in sorted(known):
            if fnmatchcase(name, pattern):
                found.setdefault(name, _mean_source(known[name], entry))
        if pattern not in found and entry.get("like") in known:
            found[pattern] = _mean_source(replace(known[entry["like"]], name=pattern), entry)
    return list(found.values())


def _mean_source(source: Source, entry: Mapping[str, Any]) -> MeantSource:
    return MeantSource(source, entry.get("where"), entry.get("names", {}))


def list_names(log_source: LogSource) -> list[str]:
    """Returns the names and patterns of sources that a log source means, known or not."""
    row = _find_row(log_source)
    return [] if row is None else [entry["name"].format(service=log_source.service) for entry in row["sources"]]


@cache
def _find_row(log_source: LogSource) -> Mapping[str, Any] | None:
    fitting = [row for row in _load_table() if _fits(row, log_source)]
    return max(fitting, key=lambda row: sum(part in row for part in _PARTS), default=None)


def _fits(row: Mapping[str, Any], log_source: LogSource) -> bool:
    parts = {part: getattr(log_source, part).lower() for part in _PARTS}
    return all(parts[part] and row[part] in (parts[part], "*") for part in _PARTS if part in row)


@cache
def _load_table() -> Sequence[Mapping[str, Any]]:
    table: Sequence[Mapping[str, Any]] = json.loads(
        (files(__package__) / "tables" / "log_sources.json").read_text("utf-8")
    )
    return table
