"""Simulates one run of ingest, and tells its outcome.

simpy is imported when it is used, because most commands do without it.
"""

from __future__ import annotations

from watchfloor.schema.errors import UserError

from .parameters import Cluster, IngestLoad
from .run_result import IngestRunResult


def simulate_ingest(cluster: Cluster, load: IngestLoad, seed: int = 1) -> IngestRunResult:
    """Simulates a run and returns its outcome: the same for the same arguments.

    Raises ``UserError`` if simpy is not installed.
    """
    try:
        from .cluster_simulation import ClusterSimulation
    except ImportError:
        raise UserError("the model needs simpy: pip install 'watchfloor[bench]'") from None
    return ClusterSimulation(cluster, load, seed).run()
