"""The layouts there are, by name."""

from __future__ import annotations

from watchfloor.schema.source import Source

from .block.layout import BlockLayout
from .cell.layout import CellLayout
from .layout import Layout

_LAYOUTS: dict[str, Layout] = {layout.name: layout for layout in (CellLayout(), BlockLayout())}


def layout_of(source: Source) -> Layout:
    return _LAYOUTS[source.layout]
