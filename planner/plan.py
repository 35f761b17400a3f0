"""A plan: how one query is run, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchfloor.planner.access.paths import Access, IndexIntersection, IndexUnion, Lookup, Scan, Term, lookups
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.units import duration, number, percent

from .estimate import Estimate

__all__ = ["Access", "IndexIntersection", "IndexUnion", "Lookup", "Plan", "Scan", "Weighed"]

_SHOWN = 20
"""Terms that a plan's text names."""


@dataclass(frozen=True)
class Weighed:
    """A way to run the query that was weighed, by the rule that found it, and whether it was ``taken``."""

    rule: str
    estimate: Estimate
    taken: bool


@dataclass(frozen=True)
class Plan:
    """How a query is run.

    ``scheme`` is what runs (never ``auto``), ``asked`` what was asked for. ``tree`` is the whole typed filter,
    ``residual`` the part that the tablet servers evaluate on what ``access`` finds (None: nothing is left). ``total``
    events lie in the time range. ``rule`` made the plan and ``because`` is its reason; ``notes`` say, each in a
    sentence, why this way was taken. ``weighed`` are all ways, if there were several. ``left_out`` are indexed
    equalities that the residual holds.
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
    weighed: tuple[Weighed, ...] = ()

    @property
    def batched(self) -> bool:
        return self.scheme.startswith("batched-")

    @property
    def uses_index(self) -> bool:
        return not isinstance(self.access, Scan)

    @property
    def matches(self) -> float:
        """Events that are expected to match; what conditions without counts hold back is not known, and so not off."""
        return self.estimate.matches

    def text(self) -> str:
        """The plan as ``--explain``, the log and the fixtures show it; every number has its unit."""
        asked = "" if self.asked == self.scheme else f" (asked: {self.asked})"
        lines = [("scheme", f"{self.scheme}{asked}"), ("rule", f"{self.rule}: {self.because}")]
        if isinstance(self.access, Scan):
            lines.append(("access", f"scan of {number(self.total, 'event')}"))
        else:
            shown = _shown(self.access)
            lines.append(("access", shown[0]))
            lines += [("", line) for line in shown[1 : _SHOWN + 1]]
            if len(shown) > _SHOWN + 1:
                lines.append(("", f"  and {number(len(shown) - _SHOWN - 1, 'look-up')} more"))
        lines += [("left out", _described(term)) for term in self.left_out]
        lines.append(("residual", "none" if self.residual is None else to_text(self.residual)))
        lines.append(("expected", self._expected()))
        lines += [("weighed", _weighed(way)) for way in self.weighed]
        lines += [("note", note) for note in self.notes]
        return "\n".join(f"{label:<9} {text}" for label, text in lines)

    def to_json(self) -> dict[str, Any]:
        """The same for programs: plain JSON values, seconds as numbers, filters as text."""
        kind = {Scan: "scan", IndexUnion: "index-union", IndexIntersection: "index-intersection"}[type(self.access)]
        return {
            "scheme": self.scheme,
            "asked": self.asked,
            "rule": self.rule,
            "because": self.because,
            "notes": list(self.notes),
            "access": {"kind": kind, "terms": [_term_json(term) for term in lookups(self.access)]},
            "left_out": [_term_json(term) for term in self.left_out],
            "filter": None if self.tree is None else to_text(self.tree),
            "residual": None if self.residual is None else to_text(self.residual),
            "events": self.total,
            "expected": {
                "matches": self.estimate.matches,
                "certain": self.estimate.certain,
                "first_page_seconds": self.estimate.page,
                "end_seconds": self.estimate.end,
            },
            "weighed": [_weighed_json(way) for way in self.weighed],
            "text": self.text(),
        }

    def _expected(self) -> str:
        page, end = duration(self.estimate.page), duration(self.estimate.end)
        if self.matches == 0:
            return f"no matches; the answer after {end}"
        matches = f"about {number(self.matches, 'match', 'matches')}"
        if self.estimate.certain:
            return f"{matches}; first page after {page}, the end after {end}"
        return f"{matches} or fewer; first page after {page} or more, the end after {end}"


def _shown(term: Access | Term, depth: int = 0) -> list[str]:
    """An access path, a line a look-up, what belongs together further to the right."""
    indent = "  " * depth
    match term:
        case Lookup():
            return [f"{indent}{_described(term)}"]
        case IndexUnion(terms) | IndexIntersection(terms):
            how = "union" if isinstance(term, IndexUnion) else "intersection"
            head = (
                ("index" if len(terms) == 1 else f"index, {how} of {len(terms)}")
                if not depth
                else f"{how} of {len(terms)}"
            )
            return [indent + head, *(line for part in terms for line in _shown(part, depth + 1))]
    return []


def _described(term: Lookup) -> str:
    if term.count is None:
        return f"{term.text}: count unknown, taken as all events"
    how = {"value": "", "range": "", "suffix": ", by reversed values", "values": ", by testing values"}[term.kind]
    return f"{term.text}: {number(term.count, 'event')}, {percent(term.density)}{how}"


def _weighed(way: Weighed) -> str:
    times = f"first page after {duration(way.estimate.page)}, the end after {duration(way.estimate.end)}"
    return f"{way.rule}: {times}{' (taken)' if way.taken else ''}"


def _weighed_json(way: Weighed) -> dict[str, Any]:
    return {
        "rule": way.rule,
        "taken": way.taken,
        "places": way.estimate.places,
        "first_page_seconds": way.estimate.page,
        "end_seconds": way.estimate.end,
    }


def _term_json(term: Lookup) -> dict[str, Any]:
    return {
        "condition": term.text,
        "field": term.condition.field,
        "kind": term.kind,
        "count": term.count,
        "density": term.density,
        "places": term.places,
    }
