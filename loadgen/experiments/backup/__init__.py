"""``bench backup``: export and import of a source during a load. Read ``run.py`` first."""
