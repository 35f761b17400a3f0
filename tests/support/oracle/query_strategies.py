"""Drawn batch settings and expected matches, for tests of batches and of whole queries."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from watchfloor.query.batches.distribution import MatchDistribution
from watchfloor.query.batches.registry import POLICIES
from watchfloor.query.batches.settings import BatchSettings

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR

BATCH_SETTINGS = st.builds(
    BatchSettings,
    policy=st.sampled_from(sorted(POLICIES)),
    growth=st.floats(1.01, 20),
    min_width=st.one_of(st.just(1), st.integers(1, DAY)),
    min_seconds=st.floats(1e-3, 5),
    max_seconds=st.floats(5, 100),
    first_rows=st.floats(1, 1000),
    width=st.integers(HOUR, 1000 * DAY),
)
EXPECTED_COUNTS = st.lists(st.tuples(st.integers(0, 100), st.integers(1, 9), st.floats(0, 1e6)), max_size=8)
"""For each of some disjoint spans: units of time since the one before, units of its width, matches."""

# Without the phase that explains a failure: it traces every line, for many minutes.
QUERY_PROFILE = settings(suppress_health_check=list(HealthCheck), phases=[p for p in Phase if p is not Phase.explain])

# Half of them as they are when nobody says otherwise: others may cut a query into dozens of batches.
QUERY_BATCHINGS = st.just(BatchSettings()) | st.builds(
    BatchSettings,
    policy=st.sampled_from(sorted(POLICIES)),
    growth=st.sampled_from([2.0, 10.0]),
    min_width=st.sampled_from([1_000_000, 60_000_000, 3_600_000_000]),
    min_seconds=st.sampled_from([0.01, 1.0]),
    first_rows=st.sampled_from([10.0, 1000.0]),
    # A fixed width of a second would be a hundred thousand batches over some days.
    width=st.sampled_from([6 * 3_600_000_000, 24 * 3_600_000_000]),
)


def expect_matches(counts: list[tuple[int, int, float]], since: int, until: int) -> MatchDistribution:
    """Returns the matches of drawn ``EXPECTED_COUNTS``, of which a unit is a hundredth of [since, until)."""
    unit, at, spans = max(1, (until - since) // 100), since - 50, []
    for gap, width, rows in counts:
        spans.append((at + gap * unit, at + (gap + width) * unit, rows))
        at = spans[-1][1]
    return MatchDistribution.from_counts(spans, streams=len(spans) % 2 == 1)
