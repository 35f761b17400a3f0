"""``bench generator``: how fast events are generated. Read ``run.py`` first."""
