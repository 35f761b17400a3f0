"""The limits that each engine other than Watchfloor runs in."""

THREADS = 2
"""Threads of each engine: the goals are for a machine with as many cores."""
MEMORY_MB = 6000
"""Memory in megabytes that each engine may take."""
