"""Fixtures and scheduling of all tests: local stacks for the files of a run, and the real logs where they are."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from ingest_support import PoolHere
from loaded import LAYOUTS
from own_stack import SharedStack
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from watchfloor.ingest.worker import load_start, pool
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytest_plugins = ("fuzzed_service", "oracle_questions")

# Files whose tests start stacks of their own: one process of a run takes them all, and starts no other.
APART = (
    "test_real_logs",
    "test_stack",
    "test_paused_servers",
    "test_terminated_runs",
    "test_demo",
    "test_supervisor",
    "test_disk_full",
    "test_woken_servers",
    "test_power_cut",
    "test_chaos_run",
    "test_screenshots",
    "test_levels",
    "test_hdfs_stack",
    "test_killed_datanodes",
    "test_durability_run",
    "test_erasure_run",
    "test_server_iterators",
    "test_security_run",
    "test_least_privilege",
    "test_cut_link",
    "test_cluster_faults",
    "test_cut_masters",
    "test_lost_peers",
    "test_standing_lost",
    "test_calibration",
)
# Files that ask the same sources: one process of a run takes them one after the other, and writes those once.
ORACLES = (
    "test_oracle_at_length", "test_stats_at_length", "test_oracle", "test_stats_oracle", "test_sort_oracle",
    "test_lists_oracle",
)  # fmt: skip
# The order in which files are shared out among the processes of a run: first those that kill servers or make and drop
# many tables, because that takes the longer the more tables tests have made by then, and after them the long ones.
ORDER = (
    *APART, "test_ingest_crash", "test_poison_items", "test_bulk_killed", "test_small_runs",
    "test_exact_at_length", "test_reversed_index_loads", "test_fuzzed_requests_at_length", *ORACLES,
    "test_million_values", "test_hostile_filters", "test_event_scans",
    "test_bridge", "test_bench", "test_server_down", "test_bulk", "test_bulk_failures", "test_ingest", "test_retry",
    "test_page",
    "test_compact", "test_faces_on_stack", "test_label_walk", "test_engines", "test_peers", "test_compact_again",
    "test_late_events", "test_labels", "test_freshness", "test_default_layout", "test_reversed_index", "test_coverage",
    "test_coverage_writers", "test_index_ranges", "test_cursor", "test_tail", "test_read_ahead", "test_ended_tokens",
    "test_continuous", "test_sigma_watch", "test_local_on_stack", "test_backup", "test_schemathesis", "test_removal",
    "test_settled_sources", "test_next_row", "test_hunt_layouts", "test_unknown_logs", "test_memory_of_streams",
    "test_wheel",
)  # fmt: skip

# Servers of tests live for minutes: they need not be compiled to their best. And no test cuts off the power, against
# which alone ZooKeeper would wait for the disk at each of its thousand writes a source.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -Dzookeeper.forceSync=no")
# Several of their stacks run at once.
os.environ.setdefault("WATCHFLOOR_SMALL", "on")

# How long an example takes says how busy the machine is: it fails no test. Each run draws other examples, but in
# continuous integration, which judges a change: there the same ones come again, and an eighth as many.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile(
    "ci", hypothesis.settings.get_profile("untimed"), derandomize=True, max_examples=12
)
hypothesis.settings.load_profile("ci" if "WATCHFLOOR_CI_RUN" in os.environ else "untimed")


def pytest_configure() -> None:
    # A shell that starts this in the background has it ignore Ctrl-C, and so would each process that a test interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {f"{name}.py": rank for rank, name in enumerate(ORDER)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))


class Lanes(LoadFileScheduling):
    """Files in their order to whichever process is free, those of ``APART`` as if they were one, and ``ORACLES``."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        name = Path(file).stem
        return "apart" if name in APART else "oracles" if name in ORACLES else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lanes:
    return Lanes(config, log)


@pytest.fixture
def quick_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that starts a worker anew almost at once, for tests that kill one after the other."""
    monkeypatch.setattr(pool, "_FIRST_WAIT", 0.05)


@pytest.fixture(scope="module")
def loads_here() -> Iterator[None]:
    """Commands that load have a worker in this process, where it is at work seconds sooner than in one of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load_start, "WorkerPool", PoolHere)
        yield


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    """Returns a layout's name: a test that takes this runs in each layout. Others have the default one."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def shared_stack() -> Iterator[SharedStack]:
    """The stack of this process of the test run."""
    stack = SharedStack()
    yield stack
    stack.close()


@pytest.fixture(scope="module")
def store_settings(shared_stack: SharedStack) -> Settings:
    """The stack of this test run, or of this process of it. It may be another one than that of the file before."""
    return shared_stack.provide()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real logs, ``$WATCHFLOOR_TEST_DATA`` or ``../shared/data``; tests that need it skip without it."""
    folder = Path(os.environ.get("WATCHFLOOR_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real logs at {folder}; set WATCHFLOOR_TEST_DATA to their folder")
    return folder


@pytest.fixture(scope="module")
def query_store(store_settings: Settings) -> Iterator[Store]:
    """The store as analysts see it."""
    with Store.open(store_settings, role="query") as store:
        yield store
