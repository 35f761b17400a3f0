"""A plan: how one query is run, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchfloor.schema.filter import Filter

from .access import Access, Equality, IndexIntersection, IndexUnion, Scan
from .cost import Estimate
from .text import to_text
from .units import duration, number, percent

__all__ = ["Access", "Equality", "IndexIntersection", "IndexUnion", "Plan", "Scan"]

_SHOWN = 20
"""Terms that a plan's text names."""


@dataclass(frozen=True)
class Plan:
    """How a query is run.

    ``scheme`` is what runs (never ``auto``), ``asked`` what was asked for. ``tree`` is the whole typed filter,
    ``residual`` the part that the tablet servers evaluate on what ``access`` finds (None: nothing is left). ``total``
    events lie in the time range. ``rule`` made the plan and ``because`` is its reason; ``notes`` say, each in a
    sentence, what else was weighed. ``left_out`` are indexed equalities that the residual holds.
    """

    scheme: str
    asked: str
    tree: Filter | None
    access: Access
    residual: Filter | None
    left_out: tuple[Equality, ...]
    rule: str
    because: str
    notes: tuple[str, ...]
    total: int
    estimate: Estimate

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
            how = "union" if isinstance(self.access, IndexUnion) else "intersection"
            terms = self.access.terms
            lines.append(("access", "index" if len(terms) == 1 else f"index, {how} of {len(terms)}"))
            lines += [("", f"  {_described(term)}") for term in terms[:_SHOWN]]
            if len(terms) > _SHOWN:
                lines.append(("", f"  and {number(len(terms) - _SHOWN, 'value')} more"))
        lines += [("left out", _described(term)) for term in self.left_out]
        lines.append(("residual", "none" if self.residual is None else to_text(self.residual)))
        lines.append(("expected", self._expected()))
        lines += [("note", note) for note in self.notes]
        return "\n".join(f"{label:<9} {text}" for label, text in lines)

    def to_json(self) -> dict[str, Any]:
        """The same for programs: plain JSON values, seconds as numbers, filters as text."""
        terms = () if isinstance(self.access, Scan) else self.access.terms
        kind = {Scan: "scan", IndexUnion: "index-union", IndexIntersection: "index-intersection"}[type(self.access)]
        return {
            "scheme": self.scheme,
            "asked": self.asked,
            "rule": self.rule,
            "because": self.because,
            "notes": list(self.notes),
            "access": {"kind": kind, "terms": [_term_json(term) for term in terms]},
            "left_out": [_term_json(term) for term in self.left_out],
            "filter": None if self.tree is None else to_text(self.tree),
            "residual": None if self.residual is None else to_text(self.residual),
            "events": self.total,
            "expected": {
                "matches": self.estimate.matches,
                "certain": self.estimate.certain,
                "first_page_seconds": {"index": self.estimate.index, "scan": self.estimate.scan}
                if self.uses_index
                else {"scan": self.estimate.scan},
            },
            "text": self.text(),
        }

    def _expected(self) -> str:
        seconds = duration(self.estimate.index if self.uses_index else self.estimate.scan)
        if self.matches == 0:
            return f"no matches; the answer after {seconds}"
        matches = f"about {number(self.matches, 'match', 'matches')}"
        if self.estimate.certain:
            return f"{matches}; first page after {seconds}"
        return f"{matches} or fewer; first page after {seconds} or more"


def _described(term: Equality) -> str:
    if term.count is None:
        return f"{term.text}: count unknown, taken as all events"
    return f"{term.text}: {number(term.count, 'event')}, {percent(term.density)}"


def _term_json(term: Equality) -> dict[str, Any]:
    return {"condition": term.text, "field": term.field, "count": term.count, "density": term.density}
