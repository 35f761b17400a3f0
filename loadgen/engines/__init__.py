"""Engines asked the same questions about the same events: Watchfloor's layouts, and those one would use instead."""

THREADS = 2
"""Of each of the other engines: the cores that the goals are for."""
MEMORY_MB = 6000
"""What each of the other engines may take."""
