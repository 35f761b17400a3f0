"""Makes the pages of all studies from the measurements of a run."""

from __future__ import annotations

from collections.abc import Sequence

from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.plots.canvas import Picture, render_pictures

from . import benchmark, erasure_coding, llcysa, security
from .own_figures import OwnFigures
from .study_page import StudyPage, make_page

_CONTENTS = (llcysa.CONTENT, benchmark.CONTENT, security.CONTENT, erasure_coding.CONTENT)


def make_study_pages(measurements: Sequence[Measurement], drawn: Sequence[Picture]) -> list[StudyPage]:
    """Makes the page of each study; of the pictures ``drawn`` by experiments each takes its own.

    Raises ``UserError`` if matplotlib is not installed.
    """
    ours = OwnFigures(measurements)
    pages = []
    for content in _CONTENTS:
        pictures = [picture for picture in drawn if picture.study == content.name]
        pictures += render_pictures(content.name, content.draw, ours)
        pages.append(make_page(content, ours, pictures))
    return pages
