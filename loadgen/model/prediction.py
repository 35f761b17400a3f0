"""Fits the free costs to one run of the smallest cluster, and predicts all other published runs.

Two costs are free for each cluster: the speed of a core, fitted to the smallest pre-split run, and then the seconds
for which a split closes tablets, fitted to the smallest run into a table that splits. Fitted costs are kept in
``calibration.json``, so that a prediction need not fit anew.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .published_runs import ClusterName, FittedCost, PublishedRun
from .simulation.parameters import Costs
from .simulation.run_result import IngestRunResult
from .simulation.simulate import simulate_ingest

CALIBRATION = Path(__file__).with_name("calibration.json")
_FIRST_GUESS: Mapping[FittedCost, float] = {"speed": 1.0, "split_seconds": 20.0}
_CLOSE = 0.01
"""A fit ends when the rate is so close to the measured one."""
_MOST_STEPS = 12
_FIT_SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class FittedCosts:
    """The free costs of a cluster."""

    speed: float
    split_seconds: float

    def make_costs(self) -> Costs:
        return Costs(speed=self.speed, split_seconds=self.split_seconds)


@dataclass(frozen=True)
class RunPrediction:
    """A published run and its simulation."""

    run: PublishedRun
    result: IngestRunResult

    @property
    def ratio(self) -> float:
        """Simulated / published mean rate."""
        return self.result.mean_rate / self.run.mean_rate

    @property
    def max_ratio(self) -> float:
        """Simulated / published highest rate."""
        return self.result.peak_rate / self.run.max_rate


def read_calibration() -> dict[ClusterName, FittedCosts]:
    """Reads the fitted costs of each cluster."""
    return {name: FittedCosts(**costs) for name, costs in json.loads(CALIBRATION.read_text("utf-8")).items()}


def write_calibration(path: Path, calibration: Mapping[ClusterName, FittedCosts]) -> None:
    path.write_text(json.dumps({name: asdict(costs) for name, costs in calibration.items()}, indent=1) + "\n", "utf-8")


def fit_costs(runs: list[PublishedRun], name: ClusterName) -> FittedCosts:
    """Fits the free costs of a cluster to the two of its runs that are meant for it."""
    fitted: dict[FittedCost, float] = {}
    for cost in ("speed", "split_seconds"):
        run = next(run for run in runs if run.cluster_name == name and run.fits == cost)

        def simulate(value: float, run: PublishedRun = run, cost: FittedCost = cost) -> float:
            costs = replace(Costs(), **{**fitted, cost: value})
            cluster = run.make_cluster(costs)
            return statistics.fmean(simulate_ingest(cluster, run.load, seed).mean_rate for seed in _FIT_SEEDS)

        fitted[cost] = round_value(fit_value(simulate, run.mean_rate, _FIRST_GUESS[cost]))
    return FittedCosts(**fitted)


def predict_run(run: PublishedRun, costs: Costs, seed: int = 1) -> RunPrediction:
    return RunPrediction(run, simulate_ingest(run.make_cluster(costs), run.load, seed))


def fit_value(function: Callable[[float], float], wanted: float, guess: float) -> float:
    """Returns the positive value at which a monotone function is closest to ``wanted``, within 1 % if it can be.

    It brackets the value by steps of two, and then takes secants between logarithms, or halves where these are slow.
    """
    low, rate_low = guess, function(guess)
    high, rate_high = guess * 2, function(guess * 2)
    rising = rate_high > rate_low
    for _ in range(_MOST_STEPS):
        if (rate_low <= wanted) == rising and (rate_high >= wanted) == rising:
            break
        if (rate_low > wanted) == rising:
            low, rate_low, high, rate_high = low / 2, function(low / 2), low, rate_low
        else:
            low, rate_low, high, rate_high = high, rate_high, high * 2, function(high * 2)
    best = min((abs(math.log(rate / wanted)), value) for value, rate in ((low, rate_low), (high, rate_high)))
    for step in range(_MOST_STEPS):
        if best[0] < _CLOSE:
            break
        share = 0.5 if step % 2 else math.log(wanted / rate_low) / math.log(rate_high / rate_low)
        value = low * (high / low) ** min(0.9, max(0.1, share))
        rate = function(value)
        best = min(best, (abs(math.log(rate / wanted)), value))
        if (rate < wanted) == rising:
            low, rate_low = value, rate
        else:
            high, rate_high = value, rate
    return best[1]


def round_value(value: float) -> float:
    """Rounds to four digits."""
    return float(f"{value:.4g}")
