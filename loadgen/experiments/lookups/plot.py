"""Draws ``bench lookups``: times, percentiles and buckets of look-ups, sizes and rates by codec, and the study's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots.canvas import COLOURS, MARKERS, Sketch, format_axis, format_log_axis, make_panels
from watchfloor.loadgen.harness.plots.dot_plot import DotRow, draw_dots
from watchfloor.loadgen.harness.plots.labels import label_published
from watchfloor.loadgen.lookups.latencies import BUCKETS
from watchfloor.loadgen.published.read_published import StudyName

from .figures import HIGHEST, LOWEST, MEAN

_STUDY: StudyName = "erasure-coding"
_EXTREMES = (LOWEST, MEAN, HIGHEST)
_REFERENCE = "Replication, 16 nodes"
"""The study's files that are drawn into our percentiles."""
_OTHERS = "The study's table had 10 billion rows on 16 nodes."


def draw(figures: Sequence[Figure]) -> Iterator[Sketch]:
    ours = _filter_metric(figures, "lookup_ms")
    published = _filter_metric(figures, "study_lookup_ms")
    if ours and published:
        yield _draw_times(ours, published)
        yield _draw_percentiles(ours, published)
        yield _draw_buckets(_filter_metric(figures, "bucket_share"))
    yield from _draw_codecs(figures)


def _draw_times(ours: Sequence[Figure], published: Sequence[Figure]) -> Sketch:
    """Draws a line for each codec and state here, and for each encoding of the study."""
    cases: dict[str, dict[str, Figure]] = {}
    for figure in (*ours, *published):
        if figure.labels["of"] in _EXTREMES:
            cases.setdefault(_name_case(figure), {})[figure.labels["of"]] = figure
    theirs = label_published(2019, "14 and 16 nodes")
    rows = [
        DotRow(name, found, theirs if "encoding" in next(iter(found.values())).labels else "")
        for name, found in cases.items()
    ]
    caption = (
        f"Times of look-ups of ten random rows, here by codec and state of the caches, and in the study. {_OTHERS}"
    )
    return draw_dots("times", caption, rows, "time of a look-up, milliseconds", _STUDY, below=False)


def _draw_percentiles(ours: Sequence[Figure], published: Sequence[Figure]) -> Sketch:
    """Draws a panel a state with a line a codec, and the study's times as dashed lines."""
    reference = [figure for figure in published if figure.labels["encoding"] == _REFERENCE]
    states = list(dict.fromkeys(figure.labels["state"] for figure in ours))
    drawn, panels = make_panels(4.2, columns=len(states), sharey=True)
    names = [name for name in dict.fromkeys(figure.labels["of"] for figure in ours) if name not in (LOWEST, MEAN)]
    for axes, state in zip(panels, states, strict=True):
        for order, (codec, times) in enumerate(_group_codecs(ours, state).items()):
            label = f"here, {codec}"
            axes.plot(names, [times[name] for name in names], color=COLOURS[order], marker=MARKERS[order], label=label)
        for figure in reference:
            axes.axhline(figure.value, color="#8a8a8a", linestyle="--", linewidth=1)
        axes.set(title=state, xlabel="share of look-ups no slower")
        axes.set_xticks(range(len(names)), [name.removesuffix(" of look-ups") for name in names])
    beside = panels[-1].get_yaxis_transform()
    for figure in reference:
        panels[-1].text(1.01, figure.value, figure.labels["of"], transform=beside, va="center", fontsize=8.5)
    panels[0].set_ylabel("time of a look-up, milliseconds")
    format_log_axis(panels[0].yaxis, [figure.value for figure in (*ours, *reference)])
    panels[0].plot([], [], color="#8a8a8a", linestyle="--", label=label_published(2019, "16 nodes, replication"))
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    caption = f"Percentiles of the times of look-ups, by state. Dashed: the study's with {_REFERENCE}. {_OTHERS}"
    return Sketch("percentiles", caption, drawn, _STUDY)


def _draw_buckets(shares: Sequence[Figure]) -> Sketch:
    """Draws the histograms of 50 ms buckets, a panel a state."""
    states = list(dict.fromkeys(figure.labels["state"] for figure in shares))
    codecs = list(dict.fromkeys(figure.labels["codec"] for figure in shares))
    drawn, panels = make_panels(3.8, columns=len(states), sharey=True)
    last = max(BUCKETS.index(figure.labels["time"]) for figure in shares) + 1
    for axes, state in zip(panels, states, strict=True):
        for order, codec in enumerate(codecs):
            found = {
                f.labels["time"]: f.value for f in shares if (f.labels["codec"], f.labels["state"]) == (codec, state)
            }
            places = [place + (order - (len(codecs) - 1) / 2) * 0.8 / len(codecs) for place in range(last)]
            heights = [found.get(name, 0.0) for name in BUCKETS[:last]]
            axes.bar(places, heights, width=0.8 / len(codecs), color=COLOURS[order], label=codec)
        axes.set(title=state, xlabel="time of a look-up, milliseconds")
        axes.set_xticks(
            [place - 0.5 for place in range(0, last + 1, 4)], [f"{50 * p:,}" for p in range(0, last + 1, 4)]
        )
        format_axis(axes.yaxis)
    panels[0].set_ylabel("share of look-ups, percent")
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return Sketch(
        "buckets",
        "Look-ups by their time, in the study's buckets of 50 milliseconds; the last has all from 1 second on.",
        drawn,
    )


def _draw_codecs(figures: Sequence[Figure]) -> Iterator[Sketch]:
    """Draws sizes, and rates of writing, by codec, here and in the study."""
    kinds = (
        ("bytes_per_row", "study_bytes_per_row", "size of files, bytes for each row", "sizes"),
        ("rows_per_second_per_writer", "study_rows_per_second_per_writer", "rows a second for each writer", "writing"),
    )
    for metric, published, words, name in kinds:
        lines: dict[str, dict[str, Figure]] = {figure.labels["codec"]: {} for figure in _filter_metric(figures, metric)}
        for figure in (*_filter_metric(figures, metric), *_filter_metric(figures, published)):
            encoding = figure.labels.get("encoding")
            theirs = label_published(2019, f"{encoding}, 32 nodes" if encoding else "32 nodes")
            series = "here" if figure.metric.name == metric else theirs
            lines.setdefault(figure.labels["codec"], {})[series] = figure
        if lines:
            rows = [DotRow(codec, found) for codec, found in lines.items()]
            yield draw_dots(
                name, f"Bulk writes by codec: {words}. The study wrote 400 million rows.", rows, words, _STUDY
            )


def _name_case(figure: Figure) -> str:
    encoding = figure.labels.get("encoding")
    return encoding if encoding else f"here: {figure.labels['codec']}, {figure.labels['state']}"


def _group_codecs(ours: Sequence[Figure], state: str) -> dict[str, dict[str, float]]:
    """Returns the times of a state by codec, by name."""
    grouped: dict[str, dict[str, float]] = {}
    for figure in ours:
        if figure.labels["state"] == state:
            grouped.setdefault(figure.labels["codec"], {})[figure.labels["of"]] = figure.value
    return grouped


def _filter_metric(figures: Sequence[Figure], name: str) -> list[Figure]:
    return [figure for figure in figures if figure.metric.name == name]
