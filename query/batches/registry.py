"""The batch policies by their names."""

from __future__ import annotations

from collections.abc import Callable

from .adaptive import AdaptivePolicy
from .bisect import BisectPolicy
from .density import DensityPolicy
from .distribution import MatchDistribution
from .fixed import FixedPolicy
from .policy import WidthPolicy, WidthSettings
from .single import SinglePolicy

PolicyFactory = Callable[[WidthSettings, MatchDistribution | None], WidthPolicy]

_POLICIES = (SinglePolicy, FixedPolicy, BisectPolicy, AdaptivePolicy, DensityPolicy)

POLICIES: dict[str, PolicyFactory] = {policy.name: policy for policy in _POLICIES}
"""Policies by the name that settings and requests use."""
