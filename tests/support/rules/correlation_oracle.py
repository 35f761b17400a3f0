"""The brute-force oracle of Sigma's correlations: every window of every group, looked at in plain Python.

It shares nothing with the product, nor with pySigma: only what ``docs/using/detection/correlations.md`` says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class OracleMatch:
    """An event that a rule matches: ``time`` in µs, ``fields`` its values by the names that the correlation uses."""

    rule: str
    time: int
    id: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, order=True)
class Told:
    """A match of a correlation, for comparison."""

    group: tuple[tuple[str, str], ...]
    time: int
    first: int
    last: int
    count: int
    values: int | None


def tell_correlation(correlation: Mapping[str, Any], matches: Sequence[OracleMatch]) -> list[Told]:
    """Returns the matches of a correlation, sorted."""
    names, kind = correlation.get("group-by", []), correlation["type"]
    counted = correlation.get("condition", {}).get("field") if kind == "value_count" else None
    fields = [counted] if isinstance(counted, str) else counted or []
    groups: dict[tuple[tuple[str, str], ...], list[OracleMatch]] = {}
    for match in matches:
        if all(match.fields.get(name) is not None for name in (*names, *fields)):
            key = tuple((name, to_text(match.fields[name])) for name in names)
            groups.setdefault(key, []).append(match)
    count, unit = int(correlation["timespan"][:-1]), correlation["timespan"][-1]
    span = count * UNITS[unit] * 1_000_000
    told = []
    for key, members in groups.items():
        holds = {
            time: window_holds(correlation, [one for one in members if time - span < one.time <= time], fields)
            for time in {one.time for one in members}
        }
        for first, last in list_runs(holds, span):
            within = [one for one in members if first - span < one.time <= last]
            counted_ids = {one.id if kind == "event_count" else (one.rule, one.id) for one in within}
            distinct = list_values(within, fields) if kind == "value_count" else None
            begin = min(one.time for one in within)
            told.append(Told(key, first, begin, last, len(counted_ids), None if distinct is None else len(distinct)))
    return sorted(told)


def list_runs(holds: Mapping[int, bool], span: int) -> list[tuple[int, int]]:
    """Returns the first and the last time of each run of windows that hold and touch one another."""
    runs: list[tuple[int, int]] = []
    before: int | None = None
    for time in sorted(holds):
        if holds[time]:
            if before is not None and holds[before] and before > time - span:
                runs[-1] = (runs[-1][0], time)
            else:
                runs.append((time, time))
        before = time
    return runs


def window_holds(correlation: Mapping[str, Any], window: Sequence[OracleMatch], fields: Sequence[str]) -> bool:
    """Returns whether the matches of one window fulfil the condition."""
    kind, rules = correlation["type"], correlation["rules"]
    condition = correlation.get("condition", {"gte": len(rules)})
    present = {one.rule for one in window}
    if kind == "temporal_ordered":
        at: float = -math.inf
        for rule in rules:
            later = [one.time for one in window if one.rule == rule and one.time >= at]
            if not later:
                return False
            at = min(later)
        return True
    if isinstance(condition, str):
        text = re.sub(r"\w+", lambda word: word[0] if word[0] in WORDS else str(word[0] in present), condition)
        return bool(eval(text))
    number = {
        "event_count": lambda: len({one.id for one in window}),
        "value_count": lambda: len(list_values(window, fields)),
        "temporal": lambda: len(present),
    }[kind]()
    ((name, bound),) = [(name, bound) for name, bound in condition.items() if name in COMPARE]
    return COMPARE[name](number, bound)


WORDS = ("and", "or", "not")
COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "lt": lambda left, right: left < right,
    "lte": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "gte": lambda left, right: left >= right,
    "eq": lambda left, right: left == right,
}


def list_values(window: Sequence[OracleMatch], fields: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(to_text(one.fields[name]) for name in fields) for one in window}


def to_text(value: Any) -> str:
    """Returns a value as the text by which those of two sources are compared."""
    return str(value).lower() if isinstance(value, bool) else str(value)
