"""The colours and axes that all pictures share, and the rendering of sketches as SVG and PNG.

matplotlib is imported when it is used, because most commands do without it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from watchfloor.loadgen.published.read_published import StudyName
from watchfloor.schema.errors import UserError

T = TypeVar("T")

WIDTH = 10.0
"""The width of all pictures in inches."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")
"""The palette of Okabe and Ito, "Color Universal Design" (2008), which people with any colour vision can tell apart.
Its black is left to the text, and its yellow is left out because it can hardly be seen on white."""
MARKERS = ("o", "s", "^", "v", "P", "X")
PUBLISHED_MARKERS = ("D", "s", "^", "o")
"""The marks of published values. They are hollow, which those of ours never are."""
HOLLOW = {"markerfacecolor": "none", "markeredgewidth": 1.4}
INK = "#1a1a1b"
"""The colour of text. In the SVG it is replaced by the text colour of the page."""
_STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "svg.fonttype": "none",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), INK
    ),
}


@dataclass(frozen=True)
class Sketch:
    """A matplotlib figure, a name for its file, and a caption of a sentence or two.

    ``study`` is the study whose published values are drawn beside ours; its page has the picture then.
    """

    name: str
    caption: str
    drawing: Any
    study: StudyName | None = None


@dataclass(frozen=True)
class Picture:
    """A rendered sketch.

    ``svg`` can be put into a page beside others; its text gets the colour of the text around it.
    """

    name: str
    caption: str
    svg: str
    png: bytes
    study: StudyName | None = None


def require_matplotlib() -> None:
    """Raises ``UserError`` if it is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UserError("pictures need matplotlib: pip install 'watchfloor[bench]'") from None


@contextmanager
def apply_style() -> Iterator[None]:
    """Applies the settings with which pictures are drawn and rendered.

    Raises ``UserError`` if matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(_STYLE):
        yield


def make_panels(height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Sequence[Any]]:
    """Returns a figure of ``height`` inches with ``rows`` × ``columns`` axes, and these axes in one list."""
    from matplotlib.figure import Figure as Drawing
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # The layout is worked out for the SVG; letters of the PNG are a little wider.
    drawn = Drawing(figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(w_pad=0.12))
    return drawn, list(drawn.subplots(rows, columns, squeeze=False, **options).flat)


def format_axis(axis: Any) -> None:
    """Labels an axis with numbers as people write them."""
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}")


def format_log_axis(axis: Any, values: Sequence[float]) -> None:
    """Makes an axis logarithmic, with plain numbers at its decades and, if these are few, between them."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    few = max(values) / min(values) < 500
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=12))
    format_axis(axis)
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def render_pictures(name: str, draw: Callable[[T], Iterator[Sketch]], figures: T) -> list[Picture]:
    """Draws figures and renders each sketch; ``name`` is that of their experiment or study.

    Raises ``UserError`` if matplotlib is not installed.
    """
    with apply_style():
        return [_render_sketch(name, sketch) for sketch in draw(figures)]


def _render_sketch(drawn_by: str, sketch: Sketch) -> Picture:
    """Renders a sketch; the same sketch gives the same bytes."""
    from matplotlib import rc_context

    name = f"{drawn_by}-{sketch.name}"
    svg, png = io.StringIO(), io.BytesIO()
    with rc_context({"svg.hashsalt": name}):
        sketch.drawing.savefig(svg, format="svg", metadata={"Date": None}, transparent=True)
        # The layout is computed once, because it takes longer than the drawing.
        sketch.drawing.set_layout_engine("none")
        sketch.drawing.savefig(png, format="png", dpi=150, metadata={"Software": None}, facecolor="white")
    return Picture(name, sketch.caption, _make_embeddable(svg.getvalue(), name), png.getvalue(), sketch.study)


def _make_embeddable(svg: str, name: str) -> str:
    """Returns the SVG in a form that can be put into a page.

    It begins with its root element, its identifiers occur in no other picture, and its text has the colour of the
    page's text.
    """
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    return svg.replace("<svg ", '<svg role="img" ', 1)
