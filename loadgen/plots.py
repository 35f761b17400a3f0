"""Pictures of measurements, as SVG."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Sequence

from watchfloor.schema.errors import UserError

from .measure import Figure

_SINGLE = re.compile(r'left = "d([^"]+)"')
_TITLES = {"page": "to the newest 100 events", "end": "to all events"}


def crossover(figures: Sequence[Figure]) -> str:
    """Milliseconds by density, a line a scheme, of the single conditions of ``bench crossover``.

    Raises ``UserError`` if matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Picture
        from matplotlib.ticker import StrMethodFormatter
    except ImportError:
        raise UserError("--plot needs matplotlib: pip install 'watchfloor[bench]'") from None
    lines: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for figure in figures:
        found = _SINGLE.fullmatch(figure.of.get("where", ""))
        if found and "scheme" in figure.of:
            lines[figure.of["task"], figure.of["scheme"]].append((float(found[1]), figure.value))
    picture = Picture(figsize=(10, 4.2), layout="constrained")
    for place, (axes, task) in enumerate(zip(picture.subplots(1, 2), _TITLES, strict=True)):
        for (of, scheme), points in lines.items():
            if of == task:
                width = 3.5 if scheme == "auto" else 1.3
                axes.loglog(*zip(*sorted(points), strict=True), label=scheme, linewidth=width, alpha=0.7, marker=".")
        axes.set(title=_TITLES[task], xlabel="density of the condition", ylabel="ms")
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(StrMethodFormatter("{x:g}"))
        axes.tick_params(axis="y", which="minor", labelsize=7)
        axes.grid(alpha=0.3)
        if not place:
            axes.legend()
    out = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "watchfloor"}):
        picture.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
