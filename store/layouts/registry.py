"""The table of layouts."""

from __future__ import annotations

from watchfloor.schema.source import Source
from watchfloor.store.layout import Layout
from watchfloor.store.layouts.block.block_layout import BlockLayout
from watchfloor.store.layouts.cell.cell_layout import CellLayout

from .kept import KeptLayout

_LAYOUTS: dict[str, Layout] = {layout.name: KeptLayout(layout) for layout in (CellLayout(), BlockLayout())}


def find_layout(source: Source) -> Layout:
    """Returns the layout in which a source is stored; its readers see the events that are kept."""
    return _LAYOUTS[source.layout]
