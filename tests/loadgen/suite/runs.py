"""Made-up runs of experiments, for the tests of reports and comparisons."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from watchfloor.loadgen.experiments.model import run as model
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement, write_json
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric

MACHINE = {"system": "Linux", "processor": "a <fast> one", "cores": 2, "memory_bytes": 1 << 34, "load_average": 0.5}
VERSIONS = {"python": "3.12.1", "watchfloor": "0.1.0"}
RATE = Metric("events_per_second", "events/s", "events / seconds of the whole load")
ASKED = Metric("asked_ms", "ms", "from the question to its last row", title="time of an answer")
WAITED = Metric("latency_ms", "ms", "from when it was due to its last row", "99th percentile")
RATIO = Metric("ours_to_best", "", "median asked_ms of ours / the lowest of all; samples: turn by turn", better="lower")
DISK = Metric("disk_share", "%", "bytes on the disk / bytes of the file", better="lower", exact=True)
RUNNING = Metric("running_compactions", "", "compactions that ran, as the servers tell")


def drawn(rng: random.Random, around: float, count: int, spread: float = 0.03) -> tuple[float, ...]:
    return tuple(around * rng.lognormvariate(0, spread) for _ in range(count))


def experiment(name: str, figures: Sequence[Figure], **other: Any) -> Measurement:
    whole: dict[str, Any] = {
        "summary": f"what {name} is worth",
        "options": {"events": 1000, "seed": 1},
        "settings": {"home": "/somewhere", "shards": 4},
        "machine": MACHINE,
        "versions": VERSIONS,
        "started": datetime(2026, 1, 8, 12, tzinfo=UTC),
        "seconds": 12.5,
        **other,
    }
    return Measurement(name, figures=tuple(figures), **whole)


def loading(seed: int, count: int = 9) -> Measurement:
    """Rates with goals, a series with marks, bytes on the disk."""
    rng = random.Random(f"loading {seed}")
    of = {"clients": "2 clients", "tservers": "1"}
    at = tuple(float(second) for second in range(40))
    return experiment(
        "loading",
        [
            Figure(RATE, drawn(rng, 90_000, count), {"engine": "ours"}, Goal(80_000, at_most=False)),
            Figure(RATE, drawn(rng, 140_000, count), {"engine": "peer <b>&amp;"}, note="peer <b>&amp; is ahead"),
            Figure(DISK, (12.25,), {"engine": "ours"}, Goal(10, at_most=True)),
            Figure(RATE, drawn(rng, 100_000, 40, 0.2), of, at=at),
            Figure(RUNNING, tuple(float(10 <= second < 20) for second in range(40)), of, at=at),
        ],
    )


def asking(seed: int, count: int = 9) -> Measurement:
    """Times of several schemes and values, percentiles, a ratio that is derived from medians."""
    rng = random.Random(f"asking {seed}")
    values = {"dense": 80.0, "middling": 7.0, "rare": 2.0}
    times = [
        Figure(ASKED, drawn(rng, ms * place, count), {"value": value, "scheme": scheme})
        for value, ms in values.items()
        for place, scheme in enumerate(("index", "scan", "auto"), 1)
    ]
    waited = [Figure(WAITED, drawn(rng, 30, 200, 0.5), {"load": load}) for load in ("half", "full")]
    ratio = Figure(RATIO, drawn(rng, 1.1, count), {"value": "rare"}, Goal(1.2, at_most=True), 1.0625, "best: index")
    return experiment("asking", [*times, *waited, ratio])


def of_model() -> Measurement:
    """Predictions of the scale model beside published rates, one of them far off."""
    figures = []
    for table, nodes, published, predicted in (
        ("6-1", 300, 37e6, 37e6),
        ("6-1", 500, 46e6, 61e6),
        ("6-4", 500, 2e6, 3e6),
    ):
        kind = "calibration" if nodes == 300 else "prediction"
        of = {"table": f"table {table}", "cluster": "AWB", "run": f"{nodes} nodes", "kind": kind}
        figures += [Figure(model.PUBLISHED, (published,), of), Figure(model.PREDICTED, (predicted,), of)]
        figures.append(Figure(model.RATIO, (predicted / published,), of, Goal(1.3, at_most=True)))
    return experiment("model", figures)


def write(folder: Path, *measured: Measurement, record: Mapping[str, Any] | None = None) -> Path:
    """A run folder with these experiments."""
    folder.mkdir(parents=True)
    for each in measured:
        write_json(folder / f"{each.experiment}.json", each.to_json())
    if record is not None:
        write_json(folder / "run.json", record)
    return folder
