"""The limits that each engine other than Watchfloor runs in."""

THREADS = 2
"""Threads of each engine: the cores that the goals are for."""
MEMORY_MB = 6000
"""Memory that each engine may take."""
