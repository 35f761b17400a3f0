"""``bench export``: the whole of a source in each format. Read ``run.py`` first."""
