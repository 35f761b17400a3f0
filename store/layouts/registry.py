"""The table of layouts."""

from __future__ import annotations

from watchfloor.schema.source import Source
from watchfloor.store.layout import Layout
from watchfloor.store.layouts.block.block_layout import BlockLayout
from watchfloor.store.layouts.cell.cell_layout import CellLayout

_LAYOUTS: dict[str, Layout] = {layout.name: layout for layout in (CellLayout(), BlockLayout())}


def find_layout(source: Source) -> Layout:
    """Returns the layout in which a source is stored."""
    return _LAYOUTS[source.layout]
