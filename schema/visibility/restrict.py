"""The part of a source that a reader's labels let through: what a reader may be told of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from watchfloor.schema.source import Source

from .expressions import is_satisfied


def restrict_source(source: Source, labels: Collection[str]) -> Source | None:
    """Returns a source with the fields whose values ``labels`` let through; None if they let no event through.

    Events are seen by those who see their time. In the ``cell`` layout the time has no cell of its own, so that there
    an event is seen by those who see the cells with the label of the source.
    """
    needed = [source.visibility_of(source.find_field(source.time_field))]
    if source.layout == "cell":
        needed.append(source.visibility)
    if not all(is_satisfied(expression, labels) for expression in needed):
        return None
    return source.keep_fields([f for f in source.fields if is_satisfied(source.visibility_of(f), labels)])


def restrict_sources(sources: Mapping[str, Source], labels: Collection[str]) -> dict[str, Source]:
    """Returns the sources of which ``labels`` let something through, restricted to that."""
    restricted = {name: restrict_source(source, labels) for name, source in sources.items()}
    return {name: source for name, source in restricted.items() if source is not None}
