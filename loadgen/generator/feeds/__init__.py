"""Feeds: the kinds of events that ``watchfloor generate`` makes, one a file, by the name of their source."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "proxy.events": "proxy",
        "dns.events": "dns",
        "netflow.events": "netflow",
        "auth.events": "auth",
    }
)
"""Sources and their modules; each has a function ``feed``."""
