"""The plan of a query: its access path with reasons and an estimate, and its forms as text and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from watchfloor.planner.access.paths import Access, IndexIntersection, IndexUnion, Lookup, Scan, Term, list_lookups
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.text import format_duration, format_number, format_percent

from .estimate import Estimate

_MAX_SHOWN = 20
"""The largest number of look-ups that a plan's text names."""


@dataclass(frozen=True)
class WeighedPath:
    """An access path that was compared with others; ``rule`` found it, and ``taken`` is True for the chosen path."""

    rule: str
    estimate: Estimate
    taken: bool


@dataclass(frozen=True)
class Plan:
    """The way in which a query is run.

    ``scheme`` is the scheme that runs (never ``auto``), ``asked`` the scheme that was asked for. ``tree`` is the whole
    typed filter, ``residual`` the part that the tablet servers evaluate on the events that ``access`` finds (None:
    nothing is left). ``total`` is the number of events in the time range. ``rule`` is the name of the rule that found
    the access path, and ``because`` its reason. ``notes`` are sentences on the choice of this path. ``weighed`` are all
    paths if several were compared, else it is empty. ``left_out`` are indexed equalities that were counted but are not
    looked up; the residual holds them.
    """

    scheme: str
    asked: str
    tree: Filter | None
    access: Access
    residual: Filter | None
    left_out: tuple[Lookup, ...]
    rule: str
    because: str
    notes: tuple[str, ...]
    total: int
    estimate: Estimate
    weighed: tuple[WeighedPath, ...] = ()

    @property
    def batched(self) -> bool:
        """True if the query runs in query batches."""
        return self.scheme.startswith("batched-")

    @property
    def uses_index(self) -> bool:
        return not isinstance(self.access, Scan)

    @property
    def finds_nothing(self) -> bool:
        """True if the index showed that no event can match, when the conditions were counted."""
        return self.uses_index and self.estimate.places == 0

    @property
    def matches(self) -> float:
        """The expected number of matches; conditions that were not counted are taken to hold for every event."""
        return self.estimate.matches

    def to_text(self) -> str:
        """Returns the plan as lines of text for people; every number has its unit."""
        asked = "" if self.asked == self.scheme else f" (asked: {self.asked})"
        lines = [("scheme", f"{self.scheme}{asked}"), ("rule", f"{self.rule}: {self.because}")]
        if isinstance(self.access, Scan):
            lines.append(("access", f"scan of {format_number(self.total, 'event')}"))
        else:
            shown = _list_lines(self.access)
            lines.append(("access", shown[0]))
            lines += [("", line) for line in shown[1 : _MAX_SHOWN + 1]]
            if len(shown) > _MAX_SHOWN + 1:
                lines.append(("", f"  and {format_number(len(shown) - _MAX_SHOWN - 1, 'look-up')} more"))
        lines += [("left out", _describe_lookup(term)) for term in self.left_out]
        lines.append(("residual", "none" if self.residual is None else to_text(self.residual)))
        lines.append(("expected", self._describe_expected()))
        lines += [("weighed", _describe_weighed(way)) for way in self.weighed]
        lines += [("note", note) for note in self.notes]
        return "\n".join(f"{label:<9} {text}" for label, text in lines)

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as plain JSON values: seconds as numbers, filters as text."""
        return dict(self._json)

    @cached_property
    def _json(self) -> dict[str, Any]:
        kind = {Scan: "scan", IndexUnion: "index-union", IndexIntersection: "index-intersection"}[type(self.access)]
        return {
            "scheme": self.scheme,
            "asked": self.asked,
            "rule": self.rule,
            "because": self.because,
            "notes": list(self.notes),
            "access": {"kind": kind, "terms": [_lookup_to_json(term) for term in list_lookups(self.access)]},
            "left_out": [_lookup_to_json(term) for term in self.left_out],
            "filter": None if self.tree is None else to_text(self.tree),
            "residual": None if self.residual is None else to_text(self.residual),
            "events": self.total,
            "expected": {
                "matches": self.estimate.matches,
                "certain": self.estimate.certain,
                "first_page_seconds": self.estimate.page,
                "end_seconds": self.estimate.end,
            },
            "weighed": [_weighed_to_json(way) for way in self.weighed],
            "text": self.to_text(),
        }

    def _describe_expected(self) -> str:
        page, end = format_duration(self.estimate.page), format_duration(self.estimate.end)
        if self.matches == 0:
            return f"no matches; the answer after {end}"
        matches = f"about {format_number(self.matches, 'match', 'matches')}"
        if self.estimate.certain:
            return f"{matches}; first page after {page}, the end after {end}"
        return f"{matches} or fewer; first page after {page} or more, the end after {end}"


def _list_lines(term: Access | Term, depth: int = 0) -> list[str]:
    """Returns a line for each look-up of an access path; parts of a union or intersection are indented below it."""
    indent = "  " * depth
    match term:
        case Lookup():
            return [f"{indent}{_describe_lookup(term)}"]
        case IndexUnion(terms) | IndexIntersection(terms):
            how = "union" if isinstance(term, IndexUnion) else "intersection"
            head = (
                ("index" if len(terms) == 1 else f"index, {how} of {len(terms)}")
                if not depth
                else f"{how} of {len(terms)}"
            )
            return [indent + head, *(line for part in terms for line in _list_lines(part, depth + 1))]
    return []


def _describe_lookup(term: Lookup) -> str:
    how = {
        "value": "",
        "range": "",
        "suffix": ", by reversed values",
        "values": ", by testing values",
        "list": ", by the list",
    }[term.kind]
    return f"{term.text}: {format_number(term.count, 'event')}, {format_percent(term.density)}{how}"


def _describe_weighed(way: WeighedPath) -> str:
    times = f"first page after {format_duration(way.estimate.page)}, the end after {format_duration(way.estimate.end)}"
    return f"{way.rule}: {times}{' (taken)' if way.taken else ''}"


def _weighed_to_json(way: WeighedPath) -> dict[str, Any]:
    return {
        "rule": way.rule,
        "taken": way.taken,
        "places": way.estimate.places,
        "first_page_seconds": way.estimate.page,
        "end_seconds": way.estimate.end,
    }


def _lookup_to_json(term: Lookup) -> dict[str, Any]:
    return {
        "condition": term.text,
        "field": term.condition.field,
        "kind": term.kind,
        "count": term.count,
        "density": term.density,
        "places": term.places,
    }
