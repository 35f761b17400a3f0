"""``bench memory``: the memory of a worker. Read ``run.py`` first."""
