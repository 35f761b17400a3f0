"""Engines that are asked the same questions about the same events: Watchfloor's layouts, DuckDB and chDB."""

THREADS = 2
"""Of each of the other engines: the cores that the goals are for."""
MEMORY_MB = 6000
"""What each of the other engines may take."""
