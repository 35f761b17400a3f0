"""Makes the labels of pictures: those that tell figures apart, and those of published values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure

from .engine_names import spell_engine

_PUBLISHED = "published, "


def label_published(year: int, size: str) -> str:
    """Returns the label of values that a study has published: ``published, 2014 study, 300 nodes``."""
    return f"{_PUBLISHED}{year} study, {size}"


def is_published(label: str) -> bool:
    """Returns True for a label of ``label_published``: its values get a mark that no value of ours has."""
    return label.startswith(_PUBLISHED)


def capitalize_first(text: str) -> str:
    """Returns a text whose first letter is a capital, all others as they are."""
    return text[:1].upper() + text[1:]


def label_figures(figures: Sequence[Figure]) -> tuple[str, list[str]]:
    """Returns the labels that all figures share, and for each figure the labels that differ."""
    same = {
        key: value
        for key, value in figures[0].labels.items()
        if len(figures) > 1 and all(figure.labels.get(key) == value for figure in figures)
    }
    return format_case(same), [
        format_case({k: v for k, v in f.labels.items() if k not in same}) or f.metric.title for f in figures
    ]


def format_case(of: Mapping[str, str]) -> str:
    """Formats the labels of a case on one line.

    Only a bare number gets its key, because other values explain themselves.
    """
    return " · ".join(map(_format_label, of, of.values()))


def _format_label(key: str, value: str) -> str:
    if key == "engine":
        return spell_engine(value)
    return f"{key} {value}" if value.replace(",", "").isdecimal() else value
