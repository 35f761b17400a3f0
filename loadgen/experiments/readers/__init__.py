"""``bench readers``: readers of JSON lines. Read ``run.py`` first."""
