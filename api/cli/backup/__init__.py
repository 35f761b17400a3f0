"""The commands ``watchfloor export`` and ``import``."""
