"""Each metric has a title in words, which stands where the metric is declared.

In `make test`: it only reads files.
"""

from __future__ import annotations

import re

import pytest

from watchfloor.loadgen.experiments.registry import list_names, load_experiment
from watchfloor.loadgen.harness.measurement.metric import Metric, spell_unit

METRICS = [(name, metric) for name in list_names() for metric in load_experiment(name).metrics]
UNITS = re.compile(r"\b(ms|s|MB|GB|per|p\d\d|99th)\b|_")
"""Pieces of identifiers, and units, which are written in words beside the title."""


@pytest.mark.parametrize(("experiment", "metric"), METRICS, ids=lambda value: getattr(value, "name", value))
def test_a_metric_has_a_title_in_words(experiment: str, metric: Metric) -> None:
    told = metric.title.removesuffix(", 99th percentile")
    assert not UNITS.search(told), f"{experiment}: {metric.name} is titled {metric.title!r}"
    assert "_" not in metric.titled_unit


@pytest.mark.parametrize("experiment", list_names())
def test_titles_tell_the_metrics_of_an_experiment_apart(experiment: str) -> None:
    titled = [metric.titled_unit for metric in load_experiment(experiment).metrics]
    assert sorted(titled) == sorted(set(titled))


def test_units_are_written_in_words() -> None:
    for _, metric in METRICS:
        assert not re.search(r"\b(ms|s|MB|GB)\b|/|%", spell_unit(metric.unit)), metric.unit
    assert [spell_unit(unit) for unit in ("ms", "MB/s", "events/s")] == [
        "milliseconds",
        "megabytes a second",
        "events a second",
    ]
