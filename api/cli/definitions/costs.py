"""``watchfloor sources show NAME --sample FILE``: what a source's events take in a store, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfloor.ingest.authoring.costs import SourceCosts
    from watchfloor.schema.source import Source
    from watchfloor.store.layouts.write_sizes import WriteSize


def describe_costs(source: Source, costs: SourceCosts) -> list[str]:
    """Returns lines with the volume of a sample and, for 1,000 events, of each table and each indexed field."""
    from watchfloor.schema.text import format_number

    lines = [
        f"sample: {format_number(costs.lines, 'line')} of {costs.log_bytes / max(costs.lines, 1):,.0f} bytes each, "
        f"{format_number(costs.events, 'event')}"
    ]
    if not costs.events:
        return [*lines, "no event, so nothing to measure"]
    lines.append(f"1,000 events in the layout {source.layout}, bytes before the servers pack them:")
    lines += [f"  {table}: {_describe_size(size, costs.events)}" for table, size in costs.tables.items()]
    whole = sum(size.bytes for size in costs.indexed.values()) or 1
    ranked = sorted(costs.indexed.items(), key=lambda item: -item[1].bytes)
    for name, size in ranked:
        share = f"{size.bytes / whole:.0%} of the index and its counts"
        lines.append(f"  index of {name}: {_describe_size(size, costs.events)}, {share}")
    return lines


def _describe_size(size: WriteSize, events: int) -> str:
    return f"{1000 * size.entries / events:,.0f} entries, {1000 * size.bytes / events:,.0f} bytes"
